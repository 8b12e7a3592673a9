//! Limits on many connections: descriptors, backlog, ports.

use nix::sys::resource::{Resource, getrlimit};

use super::Finding;
use crate::ledger::Root;

/// Connections at once that a run may well need: a pool twice over, for the last closes while the next opens.
const WANTED: u64 = 4096;

/// Connections that may wait to be accepted.
const BACKLOG: u64 = 1024;

/// Ports for outgoing connections; a client without keep-alive takes one for each request.
const PORTS: u64 = 20_000;

pub(super) fn findings(root: &Root) -> Vec<Finding> {
    let mut findings = vec![descriptors()];
    findings.extend(backlog(root));
    findings.extend(ports(root));
    findings.extend(reuse(root));
    findings.extend(lingering(root));
    findings.push(ipv6(root));
    findings
}

fn descriptors() -> Finding {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((1024, 1024));
    let seen = match soft < hard {
        true => format!("{soft} open files; a run raises that to {hard} by itself"),
        false => format!("{soft} open files"),
    };
    let deed = format!("ulimit -Hn {WANTED} (as root), then try again");
    Finding::judged("descriptors", hard < WANTED, seen, &deed)
}

fn backlog(root: &Root) -> Option<Finding> {
    let most = root.number("proc/sys/net/core/somaxconn")?;
    let seen = format!("{most} connections may wait to be accepted");
    let deed = "sysctl -w net.core.somaxconn=4096";
    Some(Finding::judged("backlog", most < BACKLOG, seen, deed))
}

fn ports(root: &Root) -> Option<Finding> {
    let text = root.read("proc/sys/net/ipv4/ip_local_port_range")?;
    let bounds = text.split_whitespace();
    let bounds: Vec<u64> = bounds.filter_map(|bound| bound.parse().ok()).collect();
    let [first, last] = bounds[..] else {
        return None;
    };
    let count = (last + 1).saturating_sub(first);
    let seen = format!("{count} for outgoing connections, {first} to {last}");
    let deed = "sysctl -w net.ipv4.ip_local_port_range='16384 65535'";
    Some(Finding::judged("ports", count < PORTS, seen, deed))
}

/// Without it, a port whose connection was closed first by the client rests for a minute.
fn reuse(root: &Root) -> Option<Finding> {
    let value = root.number("proc/sys/net/ipv4/tcp_tw_reuse")?;
    Some(match value {
        0 => Finding::mend(
            "port reuse",
            "off: a client without keep-alive runs out of ports after a while",
            "sysctl -w net.ipv4.tcp_tw_reuse=2",
        ),
        1 => Finding::good("port reuse", "on"),
        _ => Finding::good("port reuse", "on for loopback"),
    })
}

fn lingering(root: &Root) -> Option<Finding> {
    let line = root.field("proc/net/sockstat", "TCP:")?;
    let mut words = line.split_whitespace().skip_while(|word| *word != "tw");
    let count: u64 = words.nth(1)?.parse().ok()?;
    let seen = format!("{count} closed connections still hold one (TIME_WAIT)");
    let many = count > PORTS / 2;
    Some(Finding::judged("ports in use", many, seen, "wait a minute"))
}

fn ipv6(root: &Root) -> Finding {
    match root.read("proc/net/if_inet6") {
        Some(list) if list.lines().any(|line| line.ends_with(" lo")) => {
            Finding::good("IPv6", "on loopback")
        }
        _ => Finding::note("IPv6", "not on loopback; nothing here needs it"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::Standing;
    use super::*;

    #[test]
    fn limits_that_are_too_low_come_with_the_command_that_raises_them() {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("proc/sys/net/core/somaxconn", "128\n"),
            ("proc/sys/net/ipv4/ip_local_port_range", "50000\t50099\n"),
            ("proc/sys/net/ipv4/tcp_tw_reuse", "0\n"),
            (
                "proc/net/sockstat",
                "sockets: used 9\nTCP: inuse 1 orphan 0 tw 15000 alloc 2 mem 0\n",
            ),
        ] {
            fs::create_dir_all(folder.path().join(path).parent().unwrap()).unwrap();
            fs::write(folder.path().join(path), text).unwrap();
        }
        let root = Root::at(folder.path());
        for found in [backlog(&root), ports(&root), reuse(&root), lingering(&root)] {
            let found = found.unwrap();
            assert_eq!(found.standing, Standing::Mend, "{found:?}");
        }
        assert!(ports(&root).unwrap().seen.starts_with("100 for"));
        assert!(lingering(&root).unwrap().seen.starts_with("15000"));
    }
}
