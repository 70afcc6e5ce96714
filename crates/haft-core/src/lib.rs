//! The contract between a model, its tools and everything around them: what a tool is, what a
//! call and its outcome look like, what a call touches, who may be asked, what is told to
//! listeners. Nothing here does I/O or knows an async runtime.

mod annotations;
mod apps;
mod ask;
mod call;
mod cancel;
mod capability;
mod changes;
mod closed;
mod context;
mod door;
mod effects;
mod error;
mod event;
mod journal;
mod name;
mod outcome;
mod pack;
pub mod protected;
mod reduce;
mod results;
mod schema;
mod shortcut;
mod sights;
mod skills;
mod spec;
mod tool;
mod words;

pub use annotations::{Annotations, Audience};
pub use apps::{AppAnswer, Apps, CallApps};
pub use ask::{Answer, Inquiry, InquiryKind, OWN_WORDS, Person, Question};
pub use call::{Call, Identity, Within};
pub use cancel::{CancelToken, Cancelled};
pub use capability::{Backend, Capability, Power, Powers};
pub use changes::{ChangesIndex, KeptChanges, changes_place};
pub use closed::{ClosedPaths, ClosedStart};
pub use context::{Attachment, Caller, ResolvePath, ToolContext};
pub use door::{CallTools, Category, Door, FoundTools, Run, ToolCard};
pub use effects::{Access, CommandLine, Effects, Mode, Resource};
pub use error::{ErrorBody, ErrorCode, Reason, ToolError};
pub use event::{CallTag, Event, EventKind, EventSink, Measure, NoEvents};
pub use journal::{Earlier, EarlierState, Ending, Intent, Private, Recorder, Ruling};
pub use name::{api_name, canonical_module, module_aliases, module_of};
pub use outcome::{Block, Meta, Outcome, OutcomeBody, Output, OutputBody};
pub use pack::Pack;
pub use reduce::{ReduceContext, Reducer};
pub use results::{KeptResult, Nature, ResultStore, session_folder};
pub use schema::{EVERY_OTHER_KEY, parameter_aliases, tool_schema};
pub use shortcut::shortcut;
pub use sights::Sightings;
pub use skills::{LoadedSkill, SkillCard, Skills, UseSkills};
pub use spec::{
    ConstraintKind, ConstraintSpec, Example, Exposure, Module, Repeat, Risk, Source, ToolSpec,
};
pub use tool::{DynTool, Prepared, Tool, ToolResult, typed};
pub use words::Words;

/// A boxed future, as erased traits return it.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
