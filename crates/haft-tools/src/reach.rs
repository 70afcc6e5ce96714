//! How far a caller reaches into what lasts.

/// How far memory and journal reach, by the caller's isolation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Everything that is for this user
    All,
    /// Its own session, agent and project; of the journal its own session
    Own,
    Nothing,
}
