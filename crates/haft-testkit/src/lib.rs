//! What tests share: tools that behave badly on purpose, and a runtime furnished with them.
//! Nothing of it is in the released binary.

mod catalogue;
mod fixtures;
mod house;
pub mod mcp;
mod peers;
mod person;
mod random;

pub use catalogue::{Task, catalogue, repeating, tasks};
pub use fixtures::{Cells, pack};
pub use house::{House, HouseBuilder};
pub use peers::{clients, npm, python};
pub use person::{Replies, Says};
pub use random::Random;
