//! What is asked and what comes of it: requests, responses, errors, and what they are made of. Data; no sockets, no settings.

pub(crate) mod address;
pub(crate) mod asks;
pub(crate) mod attempt;
pub(crate) mod body;
pub(crate) mod broken;
pub(crate) mod elapsed;
pub(crate) mod error;
pub(crate) mod failure;
pub(crate) mod fields;
pub(crate) mod head;
pub(crate) mod origin;
pub(crate) mod redirect;
pub(crate) mod reference;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod template;
