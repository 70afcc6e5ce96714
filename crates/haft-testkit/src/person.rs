//! A person who always says the same, and remembers what was asked.

use std::sync::{Mutex, PoisonError};

use haft_core::{Answer, BoxFuture, Person, Question};

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
