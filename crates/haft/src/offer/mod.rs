//! What `haft mcp` offers beside its tools: files of the workspace, kept results and the resources
//! of other servers to read; skills and the prompts of other servers to start from. Whatever is
//! read or got is a call of a tool in the client's own session, so policy, questions and the record
//! are those of that tool; what policy closes is not listed.

mod files;
mod lent;
mod uri;

use std::path::PathBuf;
use std::sync::Arc;

use haft_core::{BoxFuture, Call, Outcome, ToolError, UseSkills};
use haft_mcp::{
    Begun, Completion, Fleet, Offer, Offered, Page, Prompt, Reading, Reference, Resource,
    ResourceTemplate,
};
use haft_policy::Verdict;
use haft_runtime::{Runtime, Session};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::wiring::House;

/// Resources of one page.
const PAGE: usize = 500;
/// Characters of what is read at once; ten megabytes as base64.
const READING: usize = 16 << 20;

const RESULT: &str = "haft://result/";
const READ_RESULT: &str = "result.read";
const SKILL: &str = "use_skill";

/// The offer of one house.
pub(crate) struct HouseOffer {
    runtime: Arc<Runtime>,
    fleet: Arc<Fleet>,
    workspace: PathBuf,
}

impl HouseOffer {
    pub(crate) fn of(house: &House) -> Self {
        HouseOffer {
            runtime: house.runtime.clone(),
            fleet: house.fleet.clone(),
            workspace: house.loaded.workspace.clone(),
        }
    }

    /// Make a call whose answer a program reads.
    async fn call(&self, session: &Session, tool: &str, args: Value) -> Result<Outcome, ToolError> {
        let session = session.unshortened(READING);
        let outcome = self.runtime.call(&session, Call::new(tool, args)).await;
        match &outcome.error {
            Some(error) => Err(error.clone().into()),
            None if outcome.meta.truncated => {
                Err(ToolError::failed("this is too large to be read at once")
                    .hint("read it in parts with the tools `file__read` and `result__read`"))
            }
            None => Ok(outcome),
        }
    }

    /// Whether this caller may use a tool at all.
    fn sees(&self, session: &Session, tool: &str) -> bool {
        self.runtime.find(session, tool).is_ok()
    }

    /// What policy says of a call; none where it cannot be made.
    fn verdict(&self, session: &Session, tool: &str, args: &Value) -> Option<Verdict> {
        let explained = self.runtime.explain(session, tool, Some(args));
        Some(explained.ok()?.judgement.verdict)
    }

    async fn page(&self, session: &Session, after: Option<&str>) -> Page {
        let mut all = self.files(session).await;
        all.extend(self.lent_resources(session));
        all.sort_by(|a, b| a.uri.cmp(&b.uri));
        let mut resources: Vec<Resource> = Vec::new();
        let later = |resource: &Resource| after.is_none_or(|after| *resource.uri > *after);
        for resource in all.into_iter().filter(later) {
            if resources.len() == PAGE {
                let next = resources.last().map(|last| last.uri.clone());
                return Page { resources, next };
            }
            if self.may_be_read(session, &resource.uri) {
                resources.push(resource);
            }
        }
        Page {
            resources,
            next: None,
        }
    }

    async fn read_result(&self, session: &Session, uri: &str, handle: &str) -> Read {
        let args = json!({"handle": handle});
        let outcome = self.call(session, READ_RESULT, args).await?;
        Ok(Some(vec![Reading {
            uri: uri.to_owned(),
            mime_type: Some("text/plain".to_owned()),
            text: Some(outcome.text()),
            blob: None,
        }]))
    }

    async fn skill(&self, session: &Session, name: &str, task: Option<&str>) -> Got {
        let args = json!({"command": name});
        let outcome = self.call(session, SKILL, args).await?;
        let skill = outcome.into_body().structured.unwrap_or_default();
        let mut text = skill["content"].as_str().unwrap_or_default().to_owned();
        if let Some(task) = task.filter(|task| !task.is_empty()) {
            text.push_str(&format!("\n\nThe task: {task}"));
        }
        Ok(Some(json!({
            "description": skill["description"],
            "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
        })))
    }

    fn skills(&self, session: &Session) -> Vec<Prompt> {
        let skills = session.caller().powers.get::<UseSkills>();
        let skills = skills.filter(|_| self.sees(session, SKILL));
        let cards = skills.map(|skills| skills.all()).unwrap_or_default();
        let task = json!({"name": "task", "description": "What to do with it", "required": false});
        cards
            .into_iter()
            .map(|card| Prompt {
                name: card.name,
                description: Some(card.description),
                arguments: vec![task.clone()],
                ..Prompt::default()
            })
            .collect()
    }
}

type Read = Result<Option<Vec<Reading>>, ToolError>;
type Got = Result<Option<Value>, ToolError>;

impl Offer for HouseOffer {
    fn offered(&self) -> Offered {
        Offered {
            resources: true,
            subscriptions: false,
            prompts: true,
            completions: true,
        }
    }

    fn resources<'a>(
        &'a self,
        session: &'a Session,
        after: Option<&'a str>,
    ) -> BoxFuture<'a, Page> {
        Box::pin(self.page(session, after))
    }

    fn templates(&self, session: &Session) -> Vec<ResourceTemplate> {
        let mut templates = Vec::new();
        let mut add = |tool: &str, uri_template: String, name: &str, description: &str| {
            if self.sees(session, tool) {
                templates.push(ResourceTemplate {
                    uri_template,
                    name: name.to_owned(),
                    description: Some(description.to_owned()),
                    ..ResourceTemplate::default()
                });
            }
        };
        let file = "A file, by its absolute path";
        add(files::READ, files::TEMPLATE.to_owned(), "file", file);
        let result = "A whole result that was shown in part, by its handle";
        add(READ_RESULT, format!("{RESULT}{{handle}}"), "result", result);
        templates.extend(self.lent_templates(session));
        templates
    }

    fn read<'a>(&'a self, session: &'a Session, uri: &'a str) -> BoxFuture<'a, Read> {
        Box::pin(async move {
            if let Some(path) = uri::path_of(uri) {
                return self.read_file(session, uri, &path).await;
            }
            match uri.strip_prefix(RESULT) {
                Some(handle) => self.read_result(session, uri, handle).await,
                None => self.read_lent(session, uri).await,
            }
        })
    }

    fn prompts(&self, session: &Session) -> Vec<Prompt> {
        let mut prompts = self.skills(session);
        prompts.extend(self.lent_prompts(session));
        prompts
    }

    fn prompt<'a>(
        &'a self,
        session: &'a Session,
        name: &'a str,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Got> {
        Box::pin(async move {
            if let Some(lent) = self.lent_prompt(name) {
                return self.get_lent(session, lent, arguments).await;
            }
            let known = self.skills(session).iter().any(|skill| skill.name == name);
            match known {
                true => {
                    let task = arguments.get("task").and_then(Value::as_str);
                    self.skill(session, name, task).await
                }
                false => Ok(None),
            }
        })
    }

    fn complete<'a>(&'a self, session: &'a Session, begun: &'a Begun) -> BoxFuture<'a, Completion> {
        Box::pin(async move {
            let values = match &begun.of {
                Reference::Resource { uri } if uri == files::TEMPLATE => {
                    self.paths(session, &begun.value).await
                }
                Reference::Resource { .. } | Reference::Prompt { .. } => Vec::new(),
            };
            Completion {
                total: Some(values.len() as u64),
                values,
            }
        })
    }

    fn resource_changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.fleet.changes())
    }

    fn prompt_changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.fleet.changes())
    }
}
