//! The suite's resources and prompts.

use haft_core::{BoxFuture, Inquiry, InquiryKind, ToolError};
use haft_mcp::{
    Begun, Completion, Offer, Offered, Page, Prompt, Reading, Resource, ResourceTemplate,
};
use haft_runtime::Session;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

/// A picture of one red dot.
pub(crate) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

pub(crate) struct Suite {
    pub(crate) prompts: watch::Sender<u64>,
}

fn text(uri: &str, mime_type: &str, text: String) -> Vec<Reading> {
    vec![Reading {
        uri: uri.into(),
        mime_type: Some(mime_type.into()),
        text: Some(text),
        blob: None,
    }]
}

impl Offer for Suite {
    fn offered(&self) -> Offered {
        Offered {
            resources: true,
            subscriptions: true,
            prompts: true,
            completions: true,
        }
    }

    fn resources<'a>(
        &'a self,
        _session: &'a Session,
        _after: Option<&'a str>,
    ) -> BoxFuture<'a, Page> {
        let one = |uri: &str, name: &str, mime_type: &str| Resource {
            uri: uri.into(),
            name: name.into(),
            description: Some(format!("The resource {name}")),
            mime_type: Some(mime_type.into()),
            ..Resource::default()
        };
        let resources = vec![
            one("test://static-text", "static-text", "text/plain"),
            one("test://static-binary", "static-binary", "image/png"),
            one("test://watched-resource", "watched-resource", "text/plain"),
        ];
        let next = None;
        Box::pin(async { Page { resources, next } })
    }

    fn templates(&self, _session: &Session) -> Vec<ResourceTemplate> {
        vec![ResourceTemplate {
            uri_template: "test://template/{id}/data".into(),
            name: "template".into(),
            description: Some("Data by id".into()),
            mime_type: Some("application/json".into()),
            ..ResourceTemplate::default()
        }]
    }

    fn read<'a>(
        &'a self,
        _session: &'a Session,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<Reading>>, ToolError>> {
        let template = uri
            .strip_prefix("test://template/")
            .and_then(|rest| rest.strip_suffix("/data"));
        let found = match (uri, template) {
            ("test://static-text", _) => Some(text(
                uri,
                "text/plain",
                "This is the content of the static text resource.".into(),
            )),
            ("test://watched-resource", _) => Some(text(uri, "text/plain", "watched".into())),
            ("test://static-binary", _) => Some(vec![Reading {
                uri: uri.into(),
                mime_type: Some("image/png".into()),
                text: None,
                blob: Some(PIXEL.into()),
            }]),
            (_, Some(id)) => {
                let data =
                    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                Some(text(uri, "application/json", data.to_string()))
            }
            _ => None,
        };
        Box::pin(async { Ok(found) })
    }

    fn prompts(&self, _session: &Session) -> Vec<Prompt> {
        let one = |name: &str, arguments: &[&str]| Prompt {
            name: name.into(),
            description: Some(format!("The prompt {name}")),
            arguments: arguments
                .iter()
                .map(|name| json!({"name": name, "description": name, "required": true}))
                .collect(),
            ..Prompt::default()
        };
        vec![
            one("test_simple_prompt", &[]),
            one("test_prompt_with_arguments", &["arg1", "arg2"]),
            one("test_prompt_with_embedded_resource", &["resourceUri"]),
            one("test_prompt_with_image", &[]),
            one("test_input_required_result_prompt", &[]),
        ]
    }

    fn prompt<'a>(
        &'a self,
        session: &'a Session,
        name: &'a str,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Option<Value>, ToolError>> {
        let user = |content: Value| json!({"role": "user", "content": content});
        let say = move |text: &str| user(json!({"type": "text", "text": text}));
        let argument = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or("");
        let messages = match name {
            "test_simple_prompt" => json!([say("This is a simple prompt for testing.")]),
            "test_prompt_with_arguments" => json!([say(&format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                argument("arg1"),
                argument("arg2")
            ))]),
            "test_prompt_with_embedded_resource" => json!([
                user(json!({"type": "resource", "resource": {
                    "uri": argument("resourceUri"), "mimeType": "text/plain",
                    "text": "Embedded resource content for testing."}})),
                say("Please process the embedded resource above."),
            ]),
            "test_prompt_with_image" => json!([
                user(json!({"type": "image", "data": PIXEL, "mimeType": "image/png"})),
                say("Please analyze the image above."),
            ]),
            "test_input_required_result_prompt" => {
                return Box::pin(async move {
                    let inquiry = Inquiry {
                        key: "user_context".into(),
                        kind: InquiryKind::Elicitation,
                        params: json!({
                            "message": "What context should the prompt use?",
                            "requestedSchema": {
                                "type": "object",
                                "properties": {"context": {"type": "string"}},
                                "required": ["context"],
                            },
                        }),
                    };
                    let person = session.caller().person.clone();
                    let answer = match person {
                        Some(person) => person.inquire(&inquiry).await,
                        None => None,
                    };
                    let answer = answer.ok_or_else(|| ToolError::failed("nobody to ask"))?;
                    let text = format!("Context: {}", answer["content"]["context"]);
                    Ok(Some(json!({"messages": [say(&text)]})))
                });
            }
            _ => return Box::pin(async { Ok(None) }),
        };
        Box::pin(async move { Ok(Some(json!({"messages": messages}))) })
    }

    fn complete<'a>(
        &'a self,
        _session: &'a Session,
        begun: &'a Begun,
    ) -> BoxFuture<'a, Completion> {
        let known = ["paris", "park", "party", "test"];
        let values: Vec<String> = known
            .iter()
            .filter(|known| known.starts_with(&begun.value))
            .map(|&known| known.to_owned())
            .collect();
        Box::pin(async {
            Completion {
                total: Some(values.len() as u64),
                values,
            }
        })
    }

    fn prompt_changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.prompts.subscribe())
    }
}
