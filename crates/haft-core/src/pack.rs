//! What a crate of tools hands over to be registered.

use std::sync::Arc;

use crate::{DynTool, Module, Reducer};

/// A module with its tools and reducers, ready to register.
pub struct Pack {
    pub module: Module,
    pub tools: Vec<Arc<dyn DynTool>>,
    pub reducers: Vec<Arc<dyn Reducer>>,
}
