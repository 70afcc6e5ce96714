//! Resources and prompts of other servers, under addresses and names that tell whose they are. Only
//! those of servers whose tool for them this caller may use; nothing has to run to be listed.

use haft_core::Block;
use haft_mcp::{Beside, Prompt, Reading, Resource, ResourceTemplate};
use haft_runtime::Session;
use serde_json::{Map, Value, json};

use super::{Got, HouseOffer, Read};

const LENT: &str = "haft://mcp/";
/// Characters of what a server says about one thing.
const DESCRIPTION: usize = 2_000;

/// A prompt of a server.
pub(super) struct LentPrompt {
    tool: String,
    name: String,
}

impl HouseOffer {
    /// The servers whose resources this caller may read, with the tool that does.
    fn readable(&self, session: &Session) -> impl Iterator<Item = (Beside, String)> {
        let servers = self.fleet.beside().into_iter();
        servers.filter_map(|beside| {
            let tool = beside.read.clone()?;
            self.sees(session, &tool).then_some((beside, tool))
        })
    }

    pub(super) fn lent_resources(&self, session: &Session) -> Vec<Resource> {
        let mut lent = Vec::new();
        for (beside, _) in self.readable(session) {
            for resource in &beside.resources {
                if let Ok(mut resource) = serde_json::from_value::<Resource>(resource.clone()) {
                    resource.uri = beside.address(&resource.uri);
                    shorten(&mut resource.description);
                    lent.push(resource);
                }
            }
        }
        lent
    }

    pub(super) fn lent_templates(&self, session: &Session) -> Vec<ResourceTemplate> {
        let mut lent = Vec::new();
        for (beside, _) in self.readable(session) {
            for template in &beside.templates {
                let template = serde_json::from_value::<ResourceTemplate>(template.clone());
                if let Ok(mut template) = template {
                    template.uri_template = beside.address(&template.uri_template);
                    shorten(&mut template.description);
                    lent.push(template);
                }
            }
        }
        lent
    }

    /// By the address among ours, or by that at the server where only one server lists it.
    pub(super) async fn read_lent(&self, session: &Session, uri: &str) -> Read {
        let found = match uri.strip_prefix(LENT).and_then(|rest| rest.split_once('/')) {
            Some((server, at_server)) => self
                .readable(session)
                .find(|(beside, _)| beside.server == server)
                .map(|(_, tool)| (tool, at_server)),
            None => {
                let has = |beside: &Beside| beside.resources.iter().any(|one| one["uri"] == uri);
                let mut having = self.readable(session).filter(|(beside, _)| has(beside));
                let first = having.next();
                let alone = first.filter(|_| having.next().is_none());
                alone.map(|(_, tool)| (tool, uri))
            }
        };
        let Some((tool, at_server)) = found else {
            return Ok(None);
        };
        let outcome = self.call(session, &tool, json!({"uri": at_server})).await?;
        let outcome = outcome.into_body();
        let structured = outcome.structured.unwrap_or_default();
        let contents = structured["contents"].as_array();
        let readings = contents.into_iter().flatten().zip(&outcome.content);
        Ok(Some(
            readings
                .map(|(content, block)| reading(uri, content, block))
                .collect(),
        ))
    }

    pub(super) fn lent_prompts(&self, session: &Session) -> Vec<Prompt> {
        let mut lent = Vec::new();
        for beside in self.fleet.beside() {
            let sees = |tool: &String| self.sees(session, tool);
            if !beside.get.as_ref().is_some_and(sees) {
                continue;
            }
            for prompt in &beside.prompts {
                if let Ok(mut prompt) = serde_json::from_value::<Prompt>(prompt.clone()) {
                    prompt.name = format!("mcp__{}__{}", beside.server, prompt.name);
                    shorten(&mut prompt.description);
                    lent.push(prompt);
                }
            }
        }
        lent
    }

    /// The prompt of a server that a name of ours means.
    pub(super) fn lent_prompt(&self, name: &str) -> Option<LentPrompt> {
        // Names of servers have no `__`.
        let (server, name) = name.strip_prefix("mcp__")?.split_once("__")?;
        let beside = self.fleet.beside();
        let beside = beside.into_iter().find(|beside| beside.server == server)?;
        let known = beside.prompts.iter().any(|prompt| prompt["name"] == name);
        Some(LentPrompt {
            tool: beside.get.filter(|_| known)?,
            name: name.to_owned(),
        })
    }

    pub(super) async fn get_lent(
        &self,
        session: &Session,
        lent: LentPrompt,
        arguments: Map<String, Value>,
    ) -> Got {
        let args = json!({"name": lent.name, "arguments": arguments});
        let outcome = self.call(session, &lent.tool, args).await?;
        Ok(outcome.into_body().structured)
    }
}

/// One of the contents of a resource, and the block that the pipeline made of it. What a model
/// reads as prose carries the mark of text that nobody vouches for; what programs parse would be
/// broken by it.
fn reading(uri: &str, content: &Value, block: &Block) -> Reading {
    let text = |key: &str| content[key].as_str().map(str::to_owned);
    let mime_type = text("mimeType");
    let is_prose = mime_type.as_deref().is_none_or(|mime_type| {
        mime_type.starts_with("text/plain") || mime_type.starts_with("text/markdown")
    });
    let shown = match block.as_text() {
        Some(marked) if is_prose => Some(marked.to_owned()),
        _ => text("text"),
    };
    Reading {
        uri: uri.to_owned(),
        mime_type,
        text: shown,
        blob: text("blob"),
    }
}

fn shorten(description: &mut Option<String>) {
    if let Some(text) = description
        && let Some((end, _)) = text.char_indices().nth(DESCRIPTION)
    {
        text.truncate(end);
    }
}
