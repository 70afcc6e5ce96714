//! What the search knows of a tool.

/// A tool as the search sees it: text only. What it may do and who may call it is not here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolDoc {
    /// Unique in the index, the canonical name: `file.read`, `mcp.github.search`. A document with
    /// an id that is there already takes its place
    pub id: String,
    /// The name a person would type, often the same as the id; several tools may share one
    pub name: String,
    /// The group shown when nothing fits: `file`, `web`
    pub category: String,
    /// Where the tool comes from, if not built in
    pub server: Option<String>,
    /// A name for people, if there is one
    pub title: String,
    pub description: String,
    /// Name and description of each parameter
    pub parameters: Vec<(String, String)>,
    pub tags: Vec<String>,
    /// Other names that mean this tool, whole: typed exactly, they find it first
    pub aliases: Vec<String>,
    /// What calling it does to the world, in words
    pub side_effects: Vec<String>,
}

impl ToolDoc {
    /// Bytes that stand for this document: the same text gives the same key, so that what was
    /// worked out from it can be kept.
    pub(crate) fn key(&self) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new();
        let mut part = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        part(&self.id);
        part(&self.name);
        part(&self.category);
        part(self.server.as_deref().unwrap_or("\0"));
        part(&self.title);
        part(&self.description);
        for (name, description) in &self.parameters {
            part(name);
            part(description);
        }
        for list in [&self.tags, &self.aliases, &self.side_effects] {
            part("\0");
            list.iter().for_each(|text| part(text));
        }
        let mut key = [0; 16];
        key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        key
    }
}
