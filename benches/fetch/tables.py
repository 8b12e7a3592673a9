"""What was measured, as Markdown: a table a part."""

import math
import statistics

TITLES = {
    "peers": "Beside what people use instead",
    "half": "Killed half way, and the same command again",
    "kills": "One job, killed again and again",
    "workers": "One process against three workers",
    "takeover": "A killed worker is replaced",
    "large": "Ten million inputs",
    "memory": "Memory at one, three and ten million inputs",
    "threads": "One thread against two",
}

# The peers that the title of a page names, if they were measured.
HEADLINE = ("hecaton fetch", "hecaton fetch before", "hecaton fetch to files", "curl --parallel")

# The titles of the columns whose key in result.json does not say enough.
NAMES = {
    "urls": "URLs",
    "per_second": "URLs/s",
    "cpu_us_per_url": "CPU per URL, µs",
    "peak_mb": "peak, MB",
    "plan_mb": "plan, peak MB",
    "run_mb": "run, peak MB",
    "plan_seconds": "plan, s",
    "plan_lines_per_second": "lines planned a second",
    "plan_exit": "exit status of the plan",
    "exit": "exit status",
    "exits": "exit statuses",
    "distinct": "different requests",
    "requests": "requests that arrived",
    "sent_again": "requested twice",
    "recorded_at_kill": "recorded at the kill",
    "first_request_after_seconds": "first request after, s",
    "lease_seconds": "lease, s",
    "parts_held": "parts that the killed worker held",
    "taken_over_after_seconds": "taken over after, s",
    "machine_load": "load of the machine",
}


def page(result):
    machine = result["machine"]
    parts = [
        f"## {TITLES[name]}\n\n{about(name, result['parts'][name])}\n\n{of(name, result['parts'][name])}\n"
        for name in TITLES
        if name in result["parts"]
    ]
    versions = ", ".join(
        f"{version}" if name.split()[0] in version else f"{name}: {version}"
        for name, version in unique(result["versions"]).items()
    )
    return "\n".join(
        [
            f"# {title(result['parts'])}\n",
            f"`benches/fetch/run`, {machine['cores']} × {machine['processor']}, Linux {machine['kernel']}. "
            f"{versions}. All that was measured is in [result.json](result.json).\n",
            *parts,
        ]
    )


def title(parts):
    """The result in a line: of the comparison with other programs, or else of the first part that has one."""
    if "peers" in parts:
        rows = [row for row in parts["peers"]["rows"] if row["hosts"] == 1]
        measured = dict.fromkeys(row["peer"] for row in rows)
        named = [name for name in HEADLINE if name in measured] or list(measured)
        speeds = ", ".join(f"{name} {speed(rows, 'peer', name)}" for name in named)
        return f"Bulk downloads from one host, URLs/s: {speeds}"
    if "threads" in parts:
        rows = [row for row in parts["threads"]["rows"] if row["load"] == "small responses"]
        one, two = (speed(rows, "threads", threads) for threads in (1, 2))
        return f"Bulk downloads: {two} small responses per second with two threads, and {one} with one"
    return f"Bulk downloads: {TITLES[next(iter(parts))]}"


def speed(rows, key, value):
    return f"{middle([row for row in rows if row[key] == value], 'per_second'):,.0f}"


def unique(versions):
    seen = {}
    return {
        name: seen.setdefault(version, version) for name, version in versions.items() if version and version not in seen
    }


def about(name, part):
    jobs = f"{part['urls']:,} URLs a job, rounds: {part['rounds']}, "
    # The tables of the other parts say how many URLs a job has.
    jobs = jobs if name in ("peers", "half", "workers") else ""
    return f"{part['date']}, {jobs}load of the machine at the end: {part['load']}."


def of(name, part):
    return (
        {"peers": side_by_side, "half": half, "memory": columns, "threads": columns}.get(name, plain)(part["rows"])
        if name != "workers"
        else workers(part["rows"])
    )


def middle(rows, key):
    return statistics.median(row[key] for row in rows)


def side_by_side(rows):
    """Medians over the rounds."""
    lines = ["| | hosts | URLs/s | CPU per URL, µs | peak, MB | recorded |", "| --- | --- | --- | --- | --- | --- |"]
    for name, hosts in dict.fromkeys((row["peer"], row["hosts"]) for row in rows):
        mine = [row for row in rows if (row["peer"], row["hosts"]) == (name, hosts)]
        lines.append(
            f"| {name} | {hosts} | {middle(mine, 'per_second'):,.0f} | {middle(mine, 'cpu_us_per_url'):,.1f} "
            f"| {middle(mine, 'peak_mb'):,.0f} | {middle(mine, 'recorded'):,.0f} of {mine[0]['urls']:,} |"
        )
    return "\n".join(lines + paired(rows))


def paired(rows):
    """The CPU time of each peer as a multiple of that of the build before it, round by round."""
    cpu = {(row["peer"], row["hosts"], row["round"]): row["cpu_us_per_url"] for row in rows}
    lines = []
    for name, hosts in dict.fromkeys((row["peer"], row["hosts"]) for row in rows):
        both = [(cpu[key], cpu.get((f"{name} before", *key[1:]))) for key in cpu if key[:2] == (name, hosts)]
        ratios = sorted(now / before for now, before in both if before)
        if ratios:
            least, most = around_median(ratios)
            lines.append(
                f"| {name} | {hosts} | {statistics.median(ratios):.3f} | {least:.3f} to {most:.3f} | {len(ratios)} |"
            )
    head = ["", "| CPU time per URL, × before | hosts | median | between | rounds |", "| --- | --- | --- | --- | --- |"]
    return head + lines if lines else []


def around_median(ordered):
    """The ends of the narrowest interval that has the true median with a probability of 95 %. It follows from the order
    of the values alone. With fewer than six values, these are the least and the most.
    """
    count = len(ordered)
    outside, below = 0, 1
    # As many values are outside at each end as the median is beyond with a probability of at most 2.5 %.
    while (below := below + math.comb(count, outside + 1)) <= 0.025 * 2**count:
        outside += 1
    return ordered[outside], ordered[-1 - outside]


def half(rows):
    lines = [
        "| | URLs | recorded at the kill | recorded in the end | requested twice |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {row['peer']} | {row['urls']:,} | {row['left_after_kill']:,} "
        f"| {row['recorded_in_the_end']:,} | {row['sent_again']:,} |"
        for row in rows
    ]
    return "\n".join(lines)


def workers(rows):
    lines = ["| | URLs/s | CPU per URL, µs | recorded | requested twice |", "| --- | --- | --- | --- | --- |"]
    for name in dict.fromkeys(row["way"] for row in rows):
        mine = [row for row in rows if row["way"] == name]
        lines.append(
            f"| {name} | {middle(mine, 'per_second'):,.0f} | {middle(mine, 'cpu_us_per_url'):,.0f} "
            f"| {middle(mine, 'recorded'):,.0f} of {mine[0]['urls']:,} | {middle(mine, 'sent_again'):,.0f} |"
        )
    return "\n".join([*lines, "", f"Cores of the workers: {rows[0]['cores']}; the test server and NATS have core 1."])


def columns(rows):
    """A line for each row; facts that hold for all rows are sentences below the table."""
    facts = {}
    if all(row.get("exit") == 0 for row in rows):
        facts["exit"] = "Every command ended with status 0."
    if all(row.get("distinct") == row.get("urls", 0) for row in rows):
        facts["distinct"] = "The test server saw a request for every URL."
    names = [name for name in rows[0] if name not in facts]
    lines = ["| " + " | ".join(map(words, names)) + " |", "| --- " * len(names) + "|"]
    lines += ["| " + " | ".join(shown(row[name]) for name in names) + " |" for row in rows]
    return "\n".join(lines + ([""] if facts else []) + list(facts.values()))


def words(key):
    return NAMES.get(key, key.replace("_", " "))


def shown(value):
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def plain(rows):
    """A line for each value of the only row."""
    lines = ["| | |", "| --- | --- |"]
    return "\n".join(lines + [f"| {words(key)} | {shown(value)} |" for key, value in rows[0].items()])
