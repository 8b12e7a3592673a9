//! A short response, stored whole.

use std::borrow::Cow;
use std::time::Instant;

use crate::wire::date::Date;
use crate::wire::head::{After, Field, Head, Length, TEXT, is_bodiless, reason};

/// A short response, stored whole.
pub(crate) struct Small {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) fields: Vec<Field>,
    pub(crate) body: Cow<'static, [u8]>,
    pub(crate) is_head: bool,
}

impl Small {
    pub(crate) fn text(status: u16, body: impl Into<Cow<'static, str>>, is_head: bool) -> Small {
        let body = match body.into() {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        };
        Small {
            status,
            content_type: TEXT,
            fields: Vec::new(),
            body,
            is_head,
        }
    }

    /// A status with its reason as body.
    pub(crate) fn status(status: u16, is_head: bool) -> Small {
        Small::text(status, format!("{status} {}\n", reason(status)), is_head)
    }

    /// Appends the response; returns the bytes of its body.
    pub(crate) fn write(
        &self,
        out: &mut Vec<u8>,
        after: After,
        date: &Date,
        now: Instant,
    ) -> usize {
        let silent = is_bodiless(self.status);
        let length = if silent {
            Length::Silent
        } else {
            Length::Bytes(self.body.len() as u64)
        };
        let head = Head {
            status: self.status,
            content_type: self.content_type,
            fields: &self.fields,
            length,
            after,
        };
        head.write(out, date.at(now).0);
        if silent || self.is_head {
            return 0;
        }
        out.extend_from_slice(&self.body);
        self.body.len()
    }
}
