//! Output on the terminal while calls run. One call's output is shown as it comes; of several
//! calls at once whole lines are shown, each with the call it belongs to.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::sync::Arc;

use haft_core::{Event, EventKind, Outcome};
use haft_runtime::{Heard, Listener};
use tokio::sync::oneshot;

use super::{fail, print};

/// How many calls speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voices {
    One,
    Many,
}

type Key = (Arc<str>, Arc<str>);

/// The calls whose output was shown while it came.
#[derive(Debug, Default)]
pub(crate) struct Shown(HashSet<Key>);

impl Shown {
    pub(crate) fn has(&self, outcome: &Outcome) -> bool {
        let key = (outcome.call_id.clone(), outcome.tool.clone());
        self.0.contains(&key)
    }
}

/// Print progress as it comes, until the calls are over.
pub(crate) async fn show(
    mut events: Listener,
    mut over: oneshot::Receiver<()>,
    voices: Voices,
) -> Shown {
    let mut screen = Screen::new(voices);
    loop {
        let heard = tokio::select! {
            biased;
            heard = events.next() => heard,
            _ = &mut over => break,
        };
        match heard {
            Heard::Event(Event {
                call,
                kind: EventKind::Progress { text, .. },
            }) => screen.show((call.call_id.clone(), call.tool.clone()), &text),
            Heard::Event(Event {
                call,
                kind: EventKind::Noted { reason },
            }) => fail::notice(&format!("`{}` is called: {reason}", call.tool)),
            Heard::Event(_) => {}
            Heard::Lost(_) => screen.lost = true,
        }
    }
    screen.end()
}

struct Screen {
    voices: Voices,
    /// What has come of each call's last line; nothing where a line has just ended
    open: HashMap<Key, String>,
    shown: HashSet<Key>,
    /// Output came faster than the terminal took it
    lost: bool,
}

impl Screen {
    fn new(voices: Voices) -> Self {
        Screen {
            voices,
            open: HashMap::new(),
            shown: HashSet::new(),
            lost: false,
        }
    }

    fn show(&mut self, key: Key, text: &str) {
        let text = haft_runtime::visible(text);
        self.shown.insert(key.clone());
        let open = self.open.entry(key.clone()).or_default();
        open.push_str(&text);
        let whole = open.rfind('\n').map_or(0, |end| end + 1);
        let rest = open.split_off(whole);
        let lines = std::mem::replace(open, rest);
        match self.voices {
            Voices::One => write(&text),
            Voices::Many => lines.lines().for_each(|line| labelled(&key.0, line)),
        }
    }

    /// End every open line. What was lost on the way must be shown again.
    fn end(self) -> Shown {
        for (key, rest) in self.open.iter().filter(|(_, rest)| !rest.is_empty()) {
            match self.voices {
                Voices::One => write("\n"),
                Voices::Many => labelled(&key.0, rest),
            }
        }
        if self.lost {
            super::fail::notice("output came too fast to be shown as it came");
            return Shown::default();
        }
        Shown(self.shown)
    }
}

fn labelled(call_id: &str, line: &str) {
    print::line(&format!("{} {line}", print::bold(&format!("{call_id}:"))));
}

fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    // A terminal that is gone must not end the call.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
