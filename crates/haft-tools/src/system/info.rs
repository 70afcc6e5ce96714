//! `system.info`: what the host knows of the machine, as data and in a few lines.

use haft_core::{Output, Repeat, Risk, Tool, ToolContext, ToolResult, ToolSpec};
use haft_host::{ReadSystem, SystemInfo};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Tell what machine this is: operating system, architecture, processors, memory, shell and
/// workspace.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Info {}

impl Tool for Info {
    const NAME: &'static str = "system.info";
    const REPEAT: Repeat = Repeat::Read;
    type Power = ReadSystem;

    fn describe(spec: ToolSpec) -> ToolSpec {
        spec.titled("System information")
            .aliases(&["system_info"])
            .tags(&[
                "system",
                "os",
                "machine",
                "memory",
                "cpu",
                "version",
                "workspace",
            ])
            .risk(Risk::Low)
            .example(
                "Ask for the machine",
                json!({}),
                json!({"os": std::env::consts::OS, "arch": std::env::consts::ARCH}),
            )
    }

    async fn run(self, power: &ReadSystem, cx: &ToolContext) -> ToolResult {
        let info = power.info();
        let workspace = cx.caller.workspace.to_string_lossy();
        let structured = json!({
            "os": info.os,
            "distribution": info.distribution,
            "kernel": info.kernel,
            "arch": info.arch,
            "hostname": info.hostname,
            "cpus": info.cpus,
            "memory": {
                "total_bytes": info.memory_total,
                "available_bytes": info.memory_available,
            },
            "haft": info.version,
            "workspace": workspace,
            "shell": info.shell.to_string_lossy(),
        });
        Ok(Output::text(told(&info, &workspace)).and_structured(structured))
    }
}

fn told(info: &SystemInfo, workspace: &str) -> String {
    let system = info.distribution.as_deref().unwrap_or(info.os);
    let memory = match (info.memory_available, info.memory_total) {
        (Some(available), Some(total)) => {
            let gigabytes = |bytes: u64| bytes as f64 / f64::from(1 << 30);
            format!(
                "{:.1} of {:.1} GiB memory available",
                gigabytes(available),
                gigabytes(total)
            )
        }
        _ => "memory unknown".to_owned(),
    };
    format!(
        "{system}, kernel {}, {}\nhost {}, {} processors, {memory}\nhaft {}, shell {}\nworkspace {workspace}",
        info.kernel,
        info.arch,
        info.hostname,
        info.cpus,
        info.version,
        info.shell.display(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_in_words() {
        let info = SystemInfo {
            os: "linux",
            distribution: Some("Some Linux 1".into()),
            kernel: "6.1".into(),
            arch: "x86_64",
            hostname: "box".into(),
            cpus: 4,
            memory_total: Some(8 << 30),
            memory_available: Some(3 << 29),
            version: "0.1.0".into(),
            shell: "/bin/sh".into(),
        };
        assert_eq!(
            told(&info, "/w"),
            "Some Linux 1, kernel 6.1, x86_64\n\
             host box, 4 processors, 1.5 of 8.0 GiB memory available\n\
             haft 0.1.0, shell /bin/sh\nworkspace /w"
        );
    }
}
