//! Cores, their clock, and who else uses them.

use super::Finding;
use crate::ledger::Root;
use crate::run::{Pinning, choose_cores};

/// Load average for each core above which other work is in the way.
const BUSY: f64 = 0.2;

/// What mends that.
const OTHER_WORK: &str = "end or wait for other work: `top -o %CPU` names it";

/// Share of a run's time, in percent, that tasks may wait for a core.
const PRESSED: f64 = 5.0;

/// Share of all time, in percent, that the host may take from a virtual machine.
const STOLEN: f64 = 1.0;

pub(super) fn findings(root: &Root) -> Vec<Finding> {
    let pinning = choose_cores();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut findings = vec![self::cores(cores, pinning)];
    findings.extend(pinning.and_then(|pinning| siblings(root, pinning)));
    findings.push(governor(root, pinning.map_or(0, |it| it.client_core)));
    findings.extend(turbo(root));
    findings.extend(battery(root));
    findings.extend(quota(root));
    findings.push(host(root));
    findings.extend(load(root, cores));
    findings.extend(pressure(root));
    findings.extend(clock(root));
    findings
}

fn cores(count: usize, pinning: Option<Pinning>) -> Finding {
    match pinning {
        Some(Pinning {
            client_core,
            server_core,
        }) => Finding::good(
            "cores",
            format!("{count}; clients run on core {client_core}, the server on core {server_core}"),
        ),
        None => Finding::mend(
            "cores",
            format!("{count}: client and server share it, and each slows the other"),
            "measure on a machine with two cores, or allow this shell two: `taskset -cp 0,1 $$`",
        ),
    }
}

/// Two threads of one core share its units: the server would slow the client.
fn siblings(root: &Root, pinning: Pinning) -> Option<Finding> {
    let Pinning {
        client_core,
        server_core,
    } = pinning;
    let path = format!("sys/devices/system/cpu/cpu{client_core}/topology/thread_siblings_list");
    let listed = listed(&root.read(&path)?);
    let is_shared = listed.contains(&server_core);
    let seen = match is_shared {
        true => format!("{client_core} and {server_core} are two threads of one core"),
        false => "client and server have a core each".to_owned(),
    };
    let deed = "start with two real cores: `taskset -c FIRST,SECOND bin/hecaton …`, from `lscpu --extended`";
    Some(Finding::judged("hyper-threading", is_shared, seen, deed))
}

/// `0-2,5` → 0, 1, 2, 5.
fn listed(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        Some(first..=last)
    };
    list.split(',').filter_map(range).flatten().collect()
}

fn governor(root: &Root, core: usize) -> Finding {
    let path = format!("sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor");
    match root.read(&path).as_deref() {
        None => Finding::note("governor", "unknown; virtual machines do not show it"),
        Some("performance") => Finding::good("governor", "performance"),
        Some(other) => Finding::mend(
            "governor",
            format!("{other}: the clock follows the load"),
            "cpupower frequency-set -g performance",
        ),
    }
}

fn turbo(root: &Root) -> Option<Finding> {
    let intel = "sys/devices/system/cpu/intel_pstate/no_turbo";
    let others = "sys/devices/system/cpu/cpufreq/boost";
    let (on, deed) = match (root.number(intel), root.number(others)) {
        (Some(off), _) => (off == 0, format!("echo 1 > /{intel}")),
        (None, Some(on)) => (on == 1, format!("echo 0 > /{others}")),
        (None, None) => return None,
    };
    Some(match on {
        true => Finding {
            mend: Some(deed),
            ..Finding::note(
                "turbo",
                "on: the clock follows heat and the other cores; ratios within one run still hold",
            )
        },
        false => Finding::good("turbo", "off"),
    })
}

fn battery(root: &Root) -> Option<Finding> {
    let online = |name: &String| root.number(&format!("sys/class/power_supply/{name}/online"));
    let mains = root.names("sys/class/power_supply");
    let is_on_battery = mains.iter().filter_map(online).max()? == 0;
    let seen = match is_on_battery {
        true => "from the battery: the clock stays low",
        false => "from the mains",
    };
    Some(Finding::judged("power", is_on_battery, seen, "plug it in"))
}

/// A container's limit on processor time stops everything in it for a part of each 100 ms.
fn quota(root: &Root) -> Option<Finding> {
    let limit = root.read("sys/fs/cgroup/cpu.max")?;
    let (most, period) = limit.split_once(' ')?;
    let (most, period): (f64, f64) = (most.parse().ok()?, period.parse().ok()?);
    let throttled = root.field("sys/fs/cgroup/cpu.stat", "nr_throttled");
    let seen = format!(
        "{:.1} cores of time; it stopped the processes {} times so far",
        most / period,
        throttled.as_deref().unwrap_or("?")
    );
    let deed = "start the container without a limit on processor time";
    Some(Finding::mend("quota", seen, deed))
}

fn host(root: &Root) -> Finding {
    let flags = root.field("proc/cpuinfo", "flags").unwrap_or_default();
    if !flags.split(' ').any(|flag| flag == "hypervisor") {
        return Finding::good("host", "no hypervisor in between");
    }
    match stolen(root) {
        Some(share) if share > STOLEN => Finding::mend(
            "host",
            format!("virtual; {share:.1} % of all time since boot went to other guests"),
            "measure at a calmer hour, or on a machine that is not shared",
        ),
        Some(share) => Finding::note(
            "host",
            format!("virtual; {share:.1} % of its time was stolen since boot"),
        ),
        None => Finding::note("host", "virtual"),
    }
}

/// Percent of all time since boot.
fn stolen(root: &Root) -> Option<f64> {
    let line = root.field("proc/stat", "cpu ")?;
    let ticks = line.split_whitespace();
    let ticks: Vec<f64> = ticks.filter_map(|tick| tick.parse().ok()).collect();
    let whole: f64 = ticks.iter().take(8).sum();
    (whole > 0.0).then(|| ticks.get(7).map(|steal| steal / whole * 100.0))?
}

fn load(root: &Root, cores: usize) -> Option<Finding> {
    let average: f64 = root.read("proc/loadavg")?.split(' ').next()?.parse().ok()?;
    let seen = format!("{average:.2} over the last minute, on {cores} cores");
    let is_busy = average > BUSY * cores as f64;
    Some(Finding::judged("load", is_busy, seen, OTHER_WORK))
}

/// Pressure stall information: how much of the last ten seconds something waited for a core.
fn pressure(root: &Root) -> Option<Finding> {
    let line = root.field("proc/pressure/cpu", "some")?;
    let share: f64 = line
        .split_whitespace()
        .find_map(|pair| pair.strip_prefix("avg10=")?.parse().ok())?;
    let seen = format!("something waited for a core in {share:.1} % of the last ten seconds");
    let is_pressed = share > PRESSED;
    Some(Finding::judged("pressure", is_pressed, seen, OTHER_WORK))
}

fn clock(root: &Root) -> Option<Finding> {
    let source = root.read("sys/devices/system/clocksource/clocksource0/current_clocksource")?;
    let quick = [
        "tsc",
        "kvm-clock",
        "arch_sys_counter",
        "hyperv_clocksource_tsc_page",
    ];
    Some(match quick.contains(&source.as_str()) {
        true => Finding::good("clock", source),
        false => {
            let seen = format!("{source}: reading the clock takes a system call");
            Finding::note("clock", seen)
        }
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::Standing;
    use super::*;

    /// A folder with some texts of a machine.
    fn machine(texts: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in texts {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = Root::at(folder.path());
        (folder, root)
    }

    #[test]
    fn a_clock_that_follows_the_load_is_to_be_mended() {
        let path = "sys/devices/system/cpu/cpu3/cpufreq/scaling_governor";
        let (_kept, root) = machine(&[(path, "powersave\n")]);
        let found = governor(&root, 3);
        assert_eq!(found.standing, Standing::Mend);
        assert_eq!(
            found.mend.as_deref(),
            Some("cpupower frequency-set -g performance")
        );
        let (_kept, root) = machine(&[(path, "performance\n")]);
        assert_eq!(governor(&root, 3).standing, Standing::Good);
        assert_eq!(governor(&root, 0).standing, Standing::Note);
    }

    #[test]
    fn threads_of_one_core_are_distinguished_from_cores() {
        let path = "sys/devices/system/cpu/cpu0/topology/thread_siblings_list";
        let pinning = Pinning {
            client_core: 0,
            server_core: 1,
        };
        let (_kept, root) = machine(&[(path, "0-1\n")]);
        assert_eq!(siblings(&root, pinning).unwrap().standing, Standing::Mend);
        let (_kept, root) = machine(&[(path, "0,2\n")]);
        assert_eq!(siblings(&root, pinning).unwrap().standing, Standing::Good);
        assert_eq!(listed("0-2,5"), [0, 1, 2, 5]);
        assert!(listed("nonsense").is_empty());
    }

    #[test]
    fn other_work_is_noticed() {
        let (_kept, root) = machine(&[
            ("proc/loadavg", "1.50 0.9 0.8 2/300 1234\n"),
            (
                "proc/pressure/cpu",
                "some avg10=12.50 avg60=3.1 avg300=1.0 total=123\n",
            ),
        ]);
        assert_eq!(load(&root, 2).unwrap().standing, Standing::Mend);
        assert_eq!(load(&root, 16).unwrap().standing, Standing::Good);
        let pressed = pressure(&root).unwrap();
        assert_eq!(pressed.standing, Standing::Mend);
        assert!(pressed.seen.contains("12.5 %"), "{}", pressed.seen);
    }

    #[test]
    fn a_quota_a_battery_and_a_host_that_steals_are_named() {
        let (_kept, root) = machine(&[
            ("sys/fs/cgroup/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/cpu.stat", "usage_usec 1\nnr_throttled 7\n"),
            ("sys/class/power_supply/AC/online", "0\n"),
            ("proc/cpuinfo", "flags\t\t: fpu hypervisor sse\n"),
            ("proc/stat", "cpu  50 0 0 40 0 0 0 10 0 0\n"),
        ]);
        assert!(
            quota(&root)
                .unwrap()
                .seen
                .contains("1.5 cores of time; it stopped the processes 7 times")
        );
        assert_eq!(battery(&root).unwrap().standing, Standing::Mend);
        assert!(host(&root).seen.contains("10.0 %"), "{}", host(&root).seen);
        let (_kept, root) = machine(&[("sys/fs/cgroup/cpu.max", "max 100000\n")]);
        assert_eq!(quota(&root), None);
        assert_eq!(battery(&root), None);
    }

    #[test]
    fn this_machine_can_be_looked_at() {
        let findings = findings(&Root::default());
        assert!(findings.iter().any(|found| found.about == "cores"));
        assert!(
            findings
                .iter()
                .all(|found| (found.standing == Standing::Mend) <= found.mend.is_some())
        );
    }
}
