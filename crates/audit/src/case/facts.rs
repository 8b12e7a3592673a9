//! The names of facts, which conditions may use.

/// Facts of a whole run.
pub const OF_RUN: [&str; 18] = [
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
    "alerts",
    "sni",
    "versions",
    "settings-acks",
    "ping-acks",
    "resets",
    "data",
    "push",
];
/// Facts of a call, or of a stop of it.
pub const OF_CALL: [&str; 21] = [
    "told",
    "status",
    "bytes",
    "body",
    "error",
    "text",
    "ms",
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
    "at",
    "responses",
    "errors",
];
/// Those that only the client's caller knows.
pub const CLAIMED: [&str; 9] = [
    "told",
    "status",
    "bytes",
    "body",
    "error",
    "text",
    "ms",
    "responses",
    "errors",
];
