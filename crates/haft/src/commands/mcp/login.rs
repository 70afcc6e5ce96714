//! `haft mcp login`: a person logs in at a server in the browser, and haft keeps what it is given.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use haft_core::BoxFuture;
use haft_mcp::Browser;
use haft_runtime::visible;

use super::servers::{SETTLE, engine};
use crate::cli::Seat;
use crate::exit;
use crate::home::Home;
use crate::servers;
use crate::terminal::fail::{self, Failed};
use crate::terminal::print;
use crate::wiring::{House, Wants};

/// Shows the page in the person's browser, and names it on the terminal in any case.
struct OnTerminal;

impl Browser for OnTerminal {
    fn show<'a>(&'a self, url: &'a str) -> BoxFuture<'a, ()> {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let on_desktop = set("DISPLAY") || set("WAYLAND_DISPLAY");
        let named = std::env::var_os("BROWSER");
        let told = match haft_host::open_page(url, named.as_deref(), on_desktop) {
            true => "log in on the page that your browser shows; it is",
            false => "open this page to log in:",
        };
        fail::notice(&format!("{told}\n{}", visible(url)));
        Box::pin(std::future::ready(()))
    }
}

pub(super) fn run(name: &str, workspace: Option<PathBuf>) -> Result<u8> {
    let seat = Seat {
        workspace,
        ..Seat::default()
    };
    // Whoever logs in again wants another login than the one that is kept; that one stays until the
    // new one stands.
    let home = Home::locate()?;
    servers::check_name(name)?;
    servers::begin_login(&home, name)?;
    let wants = Wants {
        browser: Some(Arc::new(OnTerminal)),
        ..Wants::default()
    };
    let house = House::open(&seat, wants)?;
    let engine = engine()?;
    let looked = engine.block_on(async {
        let looked = house.fleet.look_at(name).await;
        house.fleet.stop().await;
        looked
    });
    engine.shutdown_background();
    haft_host::settle(SETTLE);
    let health = looked.inspect_err(|_| drop(servers::begin_login(&home, name)))?;
    if !servers::finish_login(&home, name)? {
        bail!(Failed {
            message: format!("`{name}` did not ask for a login"),
            hint: None,
        });
    }
    print::line(&format!("logged in: {name}, {} tools", health.tools));
    Ok(0)
}

pub(super) fn out(name: &str) -> Result<u8> {
    let home = Home::locate()?;
    if !servers::has_login(&home, name) {
        fail::error(
            &format!("there is no login at `{}`", name.escape_debug()),
            None,
        );
        return Ok(exit::FAILED);
    }
    servers::forget_login(&home, name)?;
    print::line(&format!("forgotten: {name}"));
    Ok(0)
}
