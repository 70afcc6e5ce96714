//! People who always say the same, and remember what was asked.

use std::sync::{Mutex, PoisonError};

use haft_core::{Answer, BoxFuture, Inquiry, Person, Question};
use serde_json::{Value, json};

pub struct Says {
    answer: Option<Answer>,
    asked: Mutex<Vec<Question>>,
}

impl Says {
    pub fn yes() -> Self {
        Says::the(Some(Answer::Yes))
    }

    pub fn no() -> Self {
        Says::the(Some(Answer::No))
    }

    pub fn always() -> Self {
        Says::the(Some(Answer::Always))
    }

    pub fn nothing() -> Self {
        Says::the(None)
    }

    fn the(answer: Option<Answer>) -> Self {
        Says {
            answer,
            asked: Mutex::default(),
        }
    }

    pub fn asked(&self) -> Vec<Question> {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Person for Says {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Answer>> {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(question.clone());
        Box::pin(std::future::ready(self.answer))
    }
}

/// Fills in every form with the same values, as far as it asks for them.
pub struct Replies {
    values: Value,
    heard: Mutex<Vec<Value>>,
}

impl Replies {
    pub fn with(values: Value) -> Self {
        Replies {
            values,
            heard: Mutex::default(),
        }
    }

    /// The forms, oldest first.
    pub fn heard(&self) -> Vec<Value> {
        self.heard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Person for Replies {
    fn ask<'a>(&'a self, _question: &'a Question) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(std::future::ready(None))
    }

    fn inquire<'a>(&'a self, inquiry: &'a Inquiry) -> BoxFuture<'a, Option<Value>> {
        self.heard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(inquiry.params.clone());
        let wanted = &inquiry.params["requestedSchema"]["properties"];
        let mut content = self.values.clone();
        if let Some(content) = content.as_object_mut() {
            content.retain(|name, _| wanted.get(name).is_some());
        }
        let reply = json!({"action": "accept", "content": content});
        Box::pin(std::future::ready(Some(reply)))
    }
}
