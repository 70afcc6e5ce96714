//! A session at a terminal: told something, and told that there is no more.

use std::time::Duration;

use haft_core::CancelToken;
use haft_host::{
    ClosedPlaces, Level, Mark, ProcessConfig, Program, RunProcesses, SessionRequest, TerminalSize,
};

use crate::fixture::{Fixture, runtime};

pub(crate) fn a_session_can_be_typed_to() {
    let fixture = Fixture::new();
    let config = ProcessConfig {
        background: true,
        ..fixture.config(fixture.sandbox(Level::Sandboxed))
    };
    let power = RunProcesses::new(config, fixture.files().unwrap(), None);
    runtime().block_on(async {
        let session = power
            .begin(SessionRequest {
                id: "typed".to_owned(),
                program: Program::Line(
                    "tty; echo by name > $(tty); stty size; cat; echo end".to_owned(),
                ),
                cwd: fixture.work.clone(),
                timeout: Duration::from_secs(60),
                input: true,
                terminal: Some(TerminalSize::default()),
                mark: Mark {
                    session: "s".to_owned(),
                    call: "c".to_owned(),
                    tool: "t".to_owned(),
                },
                closed: ClosedPlaces::default(),
            })
            .await
            .unwrap();
        let until = async |text: &str| {
            while !session.tail().contains(text) {
                assert!(session.end().is_none(), "{}", session.tail());
                tokio::task::yield_now().await;
            }
        };
        until("/dev/console\r\nby name\r\n24 80\r\n").await;
        session
            .write(b"hello\n", &CancelToken::new())
            .await
            .unwrap();
        until("hello\r\nhello\r\n").await;
        session.close_input().await;
        let end = session.ended(None).await;
        assert!(end.well(), "{}", session.tail());
        assert!(session.tail().ends_with("end\r\n"), "{}", session.tail());
    });
}
