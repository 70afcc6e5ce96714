//! haft on a terminal: `script` gives it one, a thread reads what the terminal shows.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::place::{HAFT, Place, wait_for};

pub(crate) struct Terminal {
    script: Child,
    /// Kept open: a closed input would look like the person leaving
    keys: Option<ChildStdin>,
    shown: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
}

impl Terminal {
    /// Start haft on a new terminal, with one more setting of the environment.
    pub(crate) fn start(place: &Place, args: &[&str], env: &[(&str, &str)]) -> Terminal {
        let words: Vec<String> = [HAFT].iter().chain(args).map(|word| quoted(word)).collect();
        let mut command = Command::new("script");
        place.settle(&mut command);
        let mut script = command
            .args(["--quiet", "--return", "--flush", "--command"])
            .arg(format!("exec {}", words.join(" ")))
            .arg("/dev/null")
            .env("SHELL", "/bin/sh")
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .spawn()
            .expect("`script` of util-linux gives the tests a terminal");
        let keys = script.stdin.take();
        let mut from = script.stdout.take().unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let into = shown.clone();
        let reading = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                into.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Terminal {
            script,
            keys,
            shown,
            reading,
        }
    }

    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    /// Wait until the terminal shows this.
    #[track_caller]
    pub(crate) fn until(&mut self, text: &str) -> String {
        let shown = self.shown.clone();
        let look = || String::from_utf8_lossy(&shown.lock().unwrap()).into_owned();
        wait_for(text, || {
            let now = look();
            let ended = self.script.try_wait().unwrap().is_some();
            if now.contains(text) || look().contains(text) {
                return Some(look());
            }
            assert!(!ended, "`{text}` never came: {now}");
            None
        })
    }

    pub(crate) fn types(&mut self, keys: &str) {
        let input = self.keys.as_mut().unwrap();
        input.write_all(keys.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// Wait for the end: the exit code and all that was shown.
    pub(crate) fn end(mut self) -> (i32, String) {
        let status = self.script.wait().unwrap();
        drop(self.keys.take());
        self.reading.join().unwrap();
        let shown = String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned();
        (status.code().unwrap_or(-1), shown)
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
