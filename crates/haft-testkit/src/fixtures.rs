//! Tools that answer, break, hang and talk without end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use haft_core::{
    Capability, Effects, ErrorCode, Module, Output, Pack, Power, Repeat, Resource, Tool,
    ToolContext, ToolError, ToolResult, ToolSpec, typed,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// All fixture tools.
pub fn pack() -> Pack {
    Pack {
        module: Module {
            name: "test",
            summary: "Tools for tests",
            constraints: &[],
        },
        tools: vec![
            typed::<Echo>(),
            typed::<Break>(),
            typed::<Never>(),
            typed::<Chatter>(),
            typed::<Survey>(),
            typed::<Big>(),
            typed::<Stranger>(),
            typed::<Mix>(),
            typed::<Online>(),
            typed::<Risky>(),
        ],
        reducers: Vec::new(),
    }
}

/// Answer with the same text
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Echo {
    /// What to say
    #[schemars(extend("x-aliases" = ["message"]))]
    text: String,
    /// How often
    #[serde(default)]
    times: Option<usize>,
    /// How loud
    #[serde(default)]
    tone: Option<Tone>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Tone {
    Quiet,
    Loud,
}

impl Tool for Echo {
    const NAME: &'static str = "test.echo";
    const REPEAT: Repeat = Repeat::Read;
    type Power = ();

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.aliases(&["Echo", "say"]).risk(haft_core::Risk::Low)
    }

    async fn run(self, _power: &(), _cx: &ToolContext) -> ToolResult {
        let text = self.text.repeat(self.times.unwrap_or(1));
        Ok(Output::text(match self.tone {
            Some(Tone::Loud) => text.to_uppercase(),
            Some(Tone::Quiet) | None => text,
        }))
    }
}

/// Panic
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Break {}

impl Tool for Break {
    const NAME: &'static str = "test.break";
    const REPEAT: Repeat = Repeat::Read;
    type Power = ();

    async fn run(self, _power: &(), _cx: &ToolContext) -> ToolResult {
        panic!("on purpose")
    }
}

/// Never answer
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Never {}

impl Tool for Never {
    const NAME: &'static str = "test.never";
    const REPEAT: Repeat = Repeat::Read;
    type Power = ();

    async fn run(self, _power: &(), _cx: &ToolContext) -> ToolResult {
        std::future::pending().await
    }
}

/// Look around without end, until told to stop
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Survey {
    /// Only when it runs, not when it says what it touches
    #[serde(default)]
    late: bool,
}

impl Survey {
    /// Busy, as a walk over a huge tree is: the thread is not given back.
    fn look(cx: &ToolContext) -> ToolError {
        while !cx.cancel.is_cancelled() {
            std::thread::yield_now();
        }
        ToolError::new(ErrorCode::Cancelled, "stopped looking")
    }
}

impl Tool for Survey {
    const NAME: &'static str = "test.survey";
    const REPEAT: Repeat = Repeat::Read;
    const SURVEYS: bool = true;
    type Power = ();

    fn effects(&self, _power: &(), cx: &ToolContext) -> Result<Effects, ToolError> {
        match self.late {
            true => Ok(Effects::none()),
            false => Err(Survey::look(cx)),
        }
    }

    async fn run(self, _power: &(), cx: &ToolContext) -> ToolResult {
        Err(Survey::look(cx))
    }
}

/// Talk without end, until told to stop
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Chatter {}

impl Tool for Chatter {
    const NAME: &'static str = "test.chatter";
    const REPEAT: Repeat = Repeat::Read;
    type Power = ();

    async fn run(self, _power: &(), cx: &ToolContext) -> ToolResult {
        let mut said = 0u64;
        while !cx.cancel.is_cancelled() {
            cx.progress("and another thing");
            said += 1;
            tokio::task::yield_now().await;
        }
        Ok(Output::text(format!("said {said} things")))
    }
}

/// Answer with much text and one needle in the middle
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Big {
    /// Characters to answer with, about
    chars: usize,
    /// Put here and there
    needle: String,
}

impl Tool for Big {
    const NAME: &'static str = "test.big";
    const REPEAT: Repeat = Repeat::Read;
    type Power = ();

    async fn run(self, _power: &(), _cx: &ToolContext) -> ToolResult {
        let line = "hay hay hay hay hay hay hay hay hay hay hay hay hay hay hay hay\n";
        let lines = self.chars / line.len() / 2;
        Ok(Output::text(
            [
                &line.repeat(lines),
                &*self.needle,
                "\n",
                &line.repeat(lines),
            ]
            .concat(),
        ))
    }
}

/// Answer with a stranger's words
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Stranger {
    /// What the stranger says
    text: String,
}

impl Tool for Stranger {
    const NAME: &'static str = "test.stranger";
    const REPEAT: Repeat = Repeat::Read;
    type Power = ();

    fn describe(mut spec: ToolSpec) -> ToolSpec {
        spec.output_is_untrusted = true;
        spec
    }

    async fn run(self, _power: &(), _cx: &ToolContext) -> ToolResult {
        Ok(Output::text(self.text))
    }
}

/// Cells of numbers that calls read and write.
#[derive(Debug, Clone, Default)]
pub struct Cells(pub Arc<Mutex<BTreeMap<u64, u64>>>);

impl Power for Cells {
    const CAPABILITIES: &'static [Capability] = &[];
}

/// Mix the cells it reads into the cells it writes, slowly
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Mix {
    /// Cells to look at
    reads: Vec<u64>,
    /// Cells to change
    writes: Vec<u64>,
    /// What makes this call different from others
    salt: u64,
    /// How often it lets others go first between reading and writing
    pauses: u64,
}

impl Tool for Mix {
    const NAME: &'static str = "test.mix";
    type Power = Cells;

    fn effects(&self, _power: &Cells, _cx: &ToolContext) -> Result<Effects, ToolError> {
        let cell = |number: &u64| Resource::Uri(format!("cell:{number}"));
        let effects = self
            .reads
            .iter()
            .map(cell)
            .fold(Effects::none(), Effects::reads);
        Ok(self.writes.iter().map(cell).fold(effects, Effects::writes))
    }

    async fn run(self, cells: &Cells, _cx: &ToolContext) -> ToolResult {
        let mut sum = self.salt;
        {
            let cells = cells.0.lock().unwrap_or_else(PoisonError::into_inner);
            for number in self.reads.iter().chain(&self.writes) {
                sum = sum
                    .wrapping_mul(31)
                    .wrapping_add(cells.get(number).copied().unwrap_or(0));
            }
        }
        for _ in 0..self.pauses {
            tokio::task::yield_now().await;
        }
        let mut cells = cells.0.lock().unwrap_or_else(PoisonError::into_inner);
        for number in self.writes {
            cells.insert(number, sum);
        }
        Ok(Output::text(sum.to_string()))
    }
}

/// A power that no test grants.
struct Network;

impl Power for Network {
    const CAPABILITIES: &'static [Capability] = &[Capability::NetworkRequest];
}

/// Need a backend that is not there
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Online {}

impl Tool for Online {
    const NAME: &'static str = "test.online";
    const REPEAT: Repeat = Repeat::Read;
    type Power = Network;

    async fn run(self, _power: &Network, _cx: &ToolContext) -> ToolResult {
        Ok(Output::text("online"))
    }
}

/// Do something that a person should be asked about
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Risky {
    /// What it is done to
    target: String,
    /// A caller that tries to approve itself
    #[serde(default)]
    approved: bool,
}

impl Tool for Risky {
    const NAME: &'static str = "test.risky";
    type Power = ();

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.risk(haft_core::Risk::High)
    }

    fn effects(&self, _power: &(), cx: &ToolContext) -> Result<Effects, ToolError> {
        Ok(Effects::none().writes(Resource::File(cx.caller.workspace.join(&self.target))))
    }

    async fn run(self, _power: &(), _cx: &ToolContext) -> ToolResult {
        Ok(Output::text(format!(
            "did it to {} (approved: {})",
            self.target, self.approved
        )))
    }
}
