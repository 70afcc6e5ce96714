//! What meets the person: input, questions, output, errors.

pub(crate) mod ask;
mod consult;
pub(crate) mod drive;
pub(crate) mod fail;
pub(crate) mod input;
pub(crate) mod live;
pub(crate) mod pour;
pub(crate) mod print;
pub(crate) mod show;
pub(crate) mod table;
