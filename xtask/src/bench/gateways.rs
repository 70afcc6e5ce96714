//! Other programs that stand between MCP clients and servers, each in front of the same bare
//! server, started the way its own documentation says.

use std::fs;

use anyhow::Result;
use serde_json::json;

use super::mcp::{Driven, World};
use super::peers;

pub(super) struct Gateway {
    pub(super) name: &'static str,
    /// By pinned version
    pub(super) packages: &'static [&'static str],
    /// Calls a round
    pub(super) calls: usize,
    pub(super) prepare: fn(&World, &[&str]) -> Result<Driven>,
}

/// One line a gateway.
pub(super) const GATEWAYS: &[Gateway] = &[
    Gateway {
        name: "mcp-hub (npm)",
        packages: &["mcp-hub@4.2.1"],
        calls: 100,
        prepare: mcp_hub,
    },
    Gateway {
        name: "mcp-proxy (npm)",
        packages: &["mcp-proxy@6.7.19"],
        calls: 100,
        prepare: npm_proxy,
    },
    Gateway {
        name: "mcp-proxy (PyPI)",
        packages: &["mcp-proxy==0.13.0"],
        calls: 100,
        prepare: python_proxy,
    },
    Gateway {
        name: "FastMCP proxy",
        packages: &["fastmcp==3.4.10"],
        calls: 50,
        prepare: fastmcp,
    },
    Gateway {
        name: "ContextForge",
        packages: &["mcp-contextforge-gateway==1.0.7.post20260921"],
        calls: 10,
        prepare: contextforge,
    },
];

fn node(world: &World, packages: &[&str], program: &str) -> Result<Vec<String>> {
    let name = packages.join(" ").replace('@', "-");
    let folder = peers::npm(&world.folder, &name, packages)?;
    let program = folder.join("node_modules").join(program);
    Ok(vec!["node".to_owned(), program.display().to_string()])
}

fn python(world: &World, packages: &[&str], program: &str) -> Result<String> {
    let name = packages.join(" ").replace("==", "-");
    let folder = peers::python(&world.folder, &name, packages)?;
    Ok(folder.join("bin").join(program).display().to_string())
}

fn script(world: &World, name: &str) -> String {
    world
        .root
        .join("xtask/bench")
        .join(name)
        .display()
        .to_string()
}

fn driven(version: &[&str], way: &str, tool: &str, command: Vec<String>) -> Driven {
    Driven {
        version: version.join(" "),
        way: way.to_owned(),
        tool: tool.to_owned(),
        command,
        env: Vec::new(),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Through its own interface, which is quicker than the MCP endpoint it has beside it.
fn mcp_hub(world: &World, packages: &[&str]) -> Result<Driven> {
    let mut command = node(world, packages, "mcp-hub/dist/cli.js")?;
    let server = world.fixture("rmcp", "pipes", 0);
    let servers = json!({"mcpServers": {"echo": {"command": server[0], "args": server[1..]}}});
    let config = world.folder.join("mcp-hub.json");
    fs::write(&config, servers.to_string())?;
    command.extend(words(&["--port", "{port}", "--config"]));
    command.push(config.display().to_string());
    Ok(driven(packages, "rest:/api/servers/tools", "echo", command))
}

fn npm_proxy(world: &World, packages: &[&str]) -> Result<Driven> {
    let mut command = node(world, packages, "mcp-proxy/dist/bin/mcp-proxy.mjs")?;
    command.extend(words(&[
        "--host",
        "127.0.0.1",
        "--port",
        "{port}",
        "--server",
        "stream",
        "--",
    ]));
    command.extend(world.fixture("rmcp", "pipes", 0));
    Ok(driven(packages, "session:/mcp", "echo", command))
}

fn python_proxy(world: &World, packages: &[&str]) -> Result<Driven> {
    let mut command = vec![python(world, packages, "mcp-proxy")?];
    let quiet = ["--log-level", "ERROR"];
    command.extend(words(&["--host", "127.0.0.1", "--port", "{port}"]));
    command.extend(words(&quiet));
    command.push("--".to_owned());
    command.extend(world.fixture("rmcp", "pipes", 0));
    Ok(driven(packages, "session:/mcp/", "echo", command))
}

fn fastmcp(world: &World, packages: &[&str]) -> Result<Driven> {
    let mut command = vec![python(world, packages, "python")?];
    command.push(script(world, "fastmcp_proxy.py"));
    command.push("{port}".to_owned());
    command.extend(world.fixture("rmcp", "pipes", 0));
    Ok(driven(packages, "session:/mcp", "echo", command))
}

/// It takes servers on HTTP only.
fn contextforge(world: &World, packages: &[&str]) -> Result<Driven> {
    let mut command = vec![python(world, packages, "python")?];
    let token = world.folder.join("contextforge.token");
    // One of an earlier run would be refused for good.
    fs::write(&token, "")?;
    let token = token.display().to_string();
    command.push(script(world, "contextforge.py"));
    command.extend(words(&["{port}", &token]));
    command.extend(world.fixture("rmcp", "127.0.0.1:BACKEND", 0));
    let way = format!("session:/mcp:{token}");
    Ok(driven(packages, &way, "echo-echo", command))
}
