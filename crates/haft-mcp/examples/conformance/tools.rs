//! The suite's tools.

use std::sync::{Arc, Weak};
use std::time::Duration;

use haft_core::{Block, DynTool, Inquiry, InquiryKind, Output, ToolContext, ToolError, ToolResult};
use haft_runtime::Runtime;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::offer::PIXEL;
use crate::scripted::{tool, with_schema};

/// A short silence, as the suite's own tools have between two messages.
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) fn all(runtime: &Arc<Runtime>, prompts: &watch::Sender<u64>) -> Vec<Arc<dyn DynTool>> {
    let mut tools = content();
    tools.extend(asking());
    tools.extend(rounds());
    tools.extend(changes(Arc::downgrade(runtime), prompts.clone()));
    tools
}

fn blocks(content: Vec<Block>) -> ToolResult {
    Ok(Output::blocks(content))
}

fn resource(uri: &str, mime_type: &str, text: &str) -> Block {
    Block::resource(json!({"uri": uri, "mimeType": mime_type, "text": text}))
}

fn image() -> Block {
    Block::image(PIXEL, "image/png")
}

// Long because it is a list of independent tools.
fn content() -> Vec<Arc<dyn DynTool>> {
    let say = |lines: [&'static str; 3]| {
        move |_: Value, cx: &ToolContext| {
            for line in lines {
                cx.progress(line);
            }
        }
    };
    let work = say(["0 of 100", "50 of 100", "100 of 100"]);
    let log = say([
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ]);
    let region = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"}}});
    vec![
        with_schema("test_x_mcp_header", "Take a header", region, |args, _| {
            Box::pin(async move { Ok(Output::text(args["region"].to_string())) })
        }),
        tool("test_simple_text", "Answer with text", |_, _| {
            Box::pin(async { Ok(Output::text("This is a simple text response for testing.")) })
        }),
        tool("test_image_content", "Answer with an image", |_, _| {
            Box::pin(async { blocks(vec![image()]) })
        }),
        tool("test_audio_content", "Answer with a sound", |_, _| {
            Box::pin(async {
                blocks(vec![Block::Audio {
                    data: "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=".into(),
                    mime_type: "audio/wav".into(),
                    annotations: None,
                }])
            })
        }),
        tool(
            "test_embedded_resource",
            "Answer with a resource",
            |_, _| {
                Box::pin(async {
                    let text = "This is an embedded resource content.";
                    blocks(vec![resource(
                        "test://embedded-resource",
                        "text/plain",
                        text,
                    )])
                })
            },
        ),
        tool(
            "test_multiple_content_types",
            "Answer with a mixture",
            |_, _| {
                Box::pin(async {
                    let json = r#"{"test":"data","value":123}"#;
                    let uri = "test://mixed-content-resource";
                    blocks(vec![
                        Block::text("Multiple content types test:"),
                        image(),
                        resource(uri, "application/json", json),
                    ])
                })
            },
        ),
        tool("test_error_handling", "Fail", |_, _| {
            Box::pin(async {
                let text = "This tool intentionally returns an error for testing";
                Err(ToolError::failed(text))
            })
        }),
        tool(
            "test_tool_with_progress",
            "Tell of progress",
            move |args, cx| {
                Box::pin(async move {
                    work(args, cx);
                    tokio::time::sleep(PAUSE).await;
                    Ok(Output::text("Progress was reported"))
                })
            },
        ),
        tool(
            "test_tool_with_logging",
            "Log while working",
            move |args, cx| {
                Box::pin(async move {
                    log(args, cx);
                    tokio::time::sleep(PAUSE).await;
                    Ok(Output::text("Messages were logged"))
                })
            },
        ),
        tool(
            "test_logging_tool",
            "Log if anybody listens",
            move |args, cx| {
                Box::pin(async move {
                    log(args, cx);
                    Ok(Output::text("Messages were logged"))
                })
            },
        ),
    ]
}

fn inquiry(key: &str, kind: InquiryKind, params: Value) -> Inquiry {
    Inquiry {
        key: key.into(),
        kind,
        params,
    }
}

fn elicit(key: &str, message: &str, properties: Value, required: &[&str]) -> Inquiry {
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    let params = json!({"message": message, "requestedSchema": schema});
    inquiry(key, InquiryKind::Elicitation, params)
}

fn sample(key: &str, prompt: &str, tokens: u64) -> Inquiry {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    let params = json!({"messages": [message], "maxTokens": tokens});
    inquiry(key, InquiryKind::Sampling, params)
}

fn roots() -> Inquiry {
    inquiry("client_roots", InquiryKind::Roots, json!({}))
}

async fn ask(cx: &ToolContext, inquiry: Inquiry) -> Result<Value, ToolError> {
    cx.inquire(&inquiry)
        .await
        .ok_or_else(|| ToolError::failed("the client cannot be asked"))
}

fn told(answer: &Value) -> ToolResult {
    Ok(Output::text(format!(
        "Elicitation completed: action={}, content={}",
        answer["action"].as_str().unwrap_or_default(),
        answer["content"]
    )))
}

// Long because it is a list of independent tools.
fn asking() -> Vec<Arc<dyn DynTool>> {
    let one = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    vec![
        with_schema(
            "test_sampling",
            "Ask the client's model",
            one("prompt"),
            |args, cx| {
                Box::pin(async move {
                    let prompt = args["prompt"].as_str().unwrap_or_default().to_owned();
                    let answer = ask(cx, sample("answer", &prompt, 100)).await?;
                    Ok(Output::text(format!(
                        "LLM response: {}",
                        answer["content"]["text"]
                    )))
                })
            },
        ),
        with_schema(
            "test_elicitation",
            "Ask the person",
            one("message"),
            |args, cx| {
                Box::pin(async move {
                    let message = args["message"].as_str().unwrap_or_default().to_owned();
                    let fields = json!({
                        "username": {"type": "string", "description": "User's response"},
                        "email": {"type": "string", "description": "User's email address"},
                    });
                    let form = elicit("user", &message, fields, &["username", "email"]);
                    let answer = ask(cx, form).await?;
                    Ok(Output::text(format!("User response: {answer}")))
                })
            },
        ),
        tool(
            "test_elicitation_sep1034_defaults",
            "Ask with defaults",
            |_, cx| {
                Box::pin(async move {
                    let fields = json!({
                        "name": {"type": "string", "default": "John Doe"},
                        "age": {"type": "integer", "default": 30},
                        "score": {"type": "number", "default": 95.5},
                        "status": {"type": "string", "enum": ["active", "inactive", "pending"],
                            "default": "active"},
                        "verified": {"type": "boolean", "default": true},
                    });
                    told(
                        &ask(
                            cx,
                            elicit("defaults", "Please look these over", fields, &[]),
                        )
                        .await?,
                    )
                })
            },
        ),
        tool(
            "test_elicitation_sep1330_enums",
            "Ask with choices",
            |_, cx| {
                Box::pin(async move {
                    let plain = json!(["option1", "option2", "option3"]);
                    let titled = json!([
                        {"const": "value1", "title": "First Option"},
                        {"const": "value2", "title": "Second Option"},
                        {"const": "value3", "title": "Third Option"},
                    ]);
                    let fields = json!({
                        "untitledSingle": {"type": "string", "enum": plain},
                        "titledSingle": {"type": "string", "oneOf": titled},
                        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
                            "enumNames": ["Option One", "Option Two", "Option Three"]},
                        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
                        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
                    });
                    told(&ask(cx, elicit("choices", "Please choose", fields, &[])).await?)
                })
            },
        ),
        tool(
            "test_missing_capability",
            "Need the client's model",
            |_, cx| {
                Box::pin(async move {
                    let answer = ask(cx, sample("needed", "Say something", 10)).await?;
                    Ok(Output::text(answer.to_string()))
                })
            },
        ),
        tool(
            "test_streaming_elicitation",
            "Say something, then ask",
            |_, cx| {
                Box::pin(async move {
                    cx.progress("about to ask");
                    let fields = json!({"name": {"type": "string"}});
                    told(&ask(cx, elicit("name", "Your name?", fields, &["name"])).await?)
                })
            },
        ),
    ]
}

fn name_form(key: &str, message: &str, field: &str) -> Inquiry {
    elicit(key, message, json!({field: {"type": "string"}}), &[field])
}

// Long because it is a list of independent tools.
fn rounds() -> Vec<Arc<dyn DynTool>> {
    let confirm = |name: &str, description: &str| {
        tool(name, description, |_, cx| {
            Box::pin(async move {
                let fields = json!({"ok": {"type": "boolean"}});
                let answer = ask(cx, elicit("confirm", "Please confirm", fields, &["ok"])).await?;
                Ok(Output::text(format!(
                    "state-ok {}",
                    answer["content"]["ok"]
                )))
            })
        })
    };
    vec![
        confirm(
            "test_input_required_result_request_state",
            "Ask and carry state",
        ),
        confirm(
            "test_input_required_result_tampered_state",
            "Ask and guard the state",
        ),
        tool(
            "test_input_required_result_elicitation",
            "Ask for a name",
            |_, cx| {
                Box::pin(async move {
                    let form = name_form("user_name", "What is your name?", "name");
                    let answer = ask(cx, form).await?;
                    let name = answer["content"]["name"].as_str().unwrap_or("stranger");
                    Ok(Output::text(format!("Hello, {name}!")))
                })
            },
        ),
        tool(
            "test_input_required_result_sampling",
            "Ask the model",
            |_, cx| {
                Box::pin(async move {
                    let question = "What is the capital of France?";
                    let answer = ask(cx, sample("capital_question", question, 100)).await?;
                    Ok(Output::text(
                        answer["content"]["text"].as_str().unwrap_or_default(),
                    ))
                })
            },
        ),
        tool(
            "test_input_required_result_list_roots",
            "Ask for roots",
            |_, cx| {
                Box::pin(async move {
                    let answer = ask(cx, roots()).await?;
                    Ok(Output::text(format!("roots: {}", answer["roots"])))
                })
            },
        ),
        tool(
            "test_input_required_result_multiple_inputs",
            "Ask three things",
            |_, cx| {
                Box::pin(async move {
                    let form = name_form("user_name", "What is your name?", "name");
                    let (name, greeting, roots) = tokio::join!(
                        ask(cx, form),
                        ask(cx, sample("greeting", "Generate a greeting", 50)),
                        ask(cx, roots()),
                    );
                    Ok(Output::text(format!("{} {} {}", name?, greeting?, roots?)))
                })
            },
        ),
        tool(
            "test_input_required_result_multi_round",
            "Ask twice",
            |_, cx| {
                Box::pin(async move {
                    let first = name_form("step1", "Step 1: What is your name?", "name");
                    let name = ask(cx, first).await?;
                    let second =
                        name_form("step2", "Step 2: What is your favorite color?", "color");
                    let color = ask(cx, second).await?;
                    Ok(Output::text(format!(
                        "{} {}",
                        name["content"], color["content"]
                    )))
                })
            },
        ),
        tool(
            "test_input_required_result_capabilities",
            "Ask what can be asked",
            |_, cx| {
                Box::pin(async move {
                    let form = name_form("user_name", "What is your name?", "name");
                    let prompt = sample("greeting", "Generate a greeting", 50);
                    let (form, model) = tokio::join!(cx.inquire(&form), cx.inquire(&prompt));
                    Ok(Output::text(format!("{form:?} {model:?}")))
                })
            },
        ),
    ]
}

fn changes(runtime: Weak<Runtime>, prompts: watch::Sender<u64>) -> Vec<Arc<dyn DynTool>> {
    vec![
        tool(
            "test_trigger_tool_change",
            "Change the list of tools",
            move |_, _| {
                let runtime = runtime.clone();
                Box::pin(async move {
                    let runtime = runtime.upgrade().ok_or_else(|| ToolError::failed("gone"))?;
                    let registry = runtime.registry();
                    let name = "test_that_comes_and_goes";
                    if registry.unregister(name).is_err() {
                        let new = tool(name, "Come and go", |_, _| {
                            Box::pin(async { Ok(Output::text("here")) })
                        });
                        registry
                            .register(new, None)
                            .map_err(|error| ToolError::failed(error.to_string()))?;
                    }
                    Ok(Output::text("changed"))
                })
            },
        ),
        tool(
            "test_trigger_prompt_change",
            "Change the list of prompts",
            move |_, _| {
                prompts.send_modify(|count| *count += 1);
                Box::pin(async { Ok(Output::text("changed")) })
            },
        ),
    ]
}
