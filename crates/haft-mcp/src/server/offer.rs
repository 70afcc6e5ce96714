//! What a server offers beside its tools: resources to read and prompts to start from. Where they
//! come from is not the server's business.

use haft_core::{BoxFuture, ToolError};
use haft_runtime::Session;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::watch;

/// Which kinds there are; a client is told only of these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offered {
    pub resources: bool,
    /// Clients may ask to hear when a resource changes
    pub subscriptions: bool,
    pub prompts: bool,
    pub completions: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    pub uri: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// What else is said about it, as annotations and icons
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    pub uri_template: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Some resources, and whether there are more.
#[derive(Debug, Clone, Default)]
pub struct Page {
    pub resources: Vec<Resource>,
    /// The URI after which the next page begins
    pub next: Option<String>,
}

/// What a resource holds.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reading {
    pub uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Base64
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
}

/// A prompt as it is listed; arguments in the words of MCP.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prompt {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Value>,
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// An argument that is half written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    pub of: Reference,
    pub argument: String,
    pub value: String,
}

/// What has arguments.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type")]
pub enum Reference {
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    /// A template, or what was made of it so far
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
}

/// Ways to go on with a half-written argument.
#[derive(Debug, Clone, Default)]
pub struct Completion {
    pub values: Vec<String>,
    pub total: Option<u64>,
}

/// A source of resources and prompts. Reading goes by the session it is handed, so that policy
/// binds here as it does for tools.
pub trait Offer: Send + Sync {
    fn offered(&self) -> Offered;

    /// In an order that stays, after the one of this URI where one is given. What policy closes to
    /// the session is not among them.
    fn resources<'a>(
        &'a self,
        session: &'a Session,
        after: Option<&'a str>,
    ) -> BoxFuture<'a, Page> {
        let _ = (session, after);
        Box::pin(async { Page::default() })
    }

    fn templates(&self, session: &Session) -> Vec<ResourceTemplate> {
        let _ = session;
        Vec::new()
    }

    /// None where there is no such resource.
    fn read<'a>(
        &'a self,
        session: &'a Session,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<Reading>>, ToolError>> {
        let _ = (session, uri);
        Box::pin(async { Ok(None) })
    }

    fn prompts(&self, session: &Session) -> Vec<Prompt> {
        let _ = session;
        Vec::new()
    }

    /// `description` and `messages` in the words of MCP. None where there is no such prompt.
    fn prompt<'a>(
        &'a self,
        session: &'a Session,
        name: &'a str,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Option<Value>, ToolError>> {
        let _ = (session, name, arguments);
        Box::pin(async { Ok(None) })
    }

    fn complete<'a>(&'a self, session: &'a Session, begun: &'a Begun) -> BoxFuture<'a, Completion> {
        let _ = (session, begun);
        Box::pin(async { Completion::default() })
    }

    /// Counts up when the list of resources changes.
    fn resource_changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// Counts up when the list of prompts changes.
    fn prompt_changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }
}
