//! The names of facts, which conditions may use.

/// Facts of a whole run.
pub const OF_RUN: [&str; 20] = [
    "connections",
    "requests",
    "budget",
    "strangers",
    "opened",
    "open",
    "peak",
    "streams",
    "hellos",
    "handshakes",
    "resumed",
    "early",
    "alerts",
    "sni",
    "versions",
    "settings-acks",
    "ping-acks",
    "resets",
    "data",
    "push",
];
/// Facts of a call, or of one stop of a call (a path that a redirect leads to), as the server's log tells.
pub const SEEN: [&str; 13] = [
    "attempts",
    "connection",
    "reused",
    "method",
    "methods",
    "sent",
    "target",
    "whole",
    "connections",
    "line",
    "gap",
    "since",
    "at",
];
/// Facts of a call, or of one stop of it, as the client reports.
pub const CLAIMED: [&str; 9] = [
    "outcome",
    "status",
    "bytes",
    "body",
    "error",
    "text",
    "ms",
    "responses",
    "errors",
];
