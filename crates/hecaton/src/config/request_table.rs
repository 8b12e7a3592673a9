//! The table of what a request may have beside its method and its URL, in Ruby's words.
//!
//! `tests/settings` makes of it the list of these keywords (`ruby/lib/hecaton/settings.rb`), the signatures of all
//! methods that take them (`ruby/sig/hecaton/verbs.rbs`) and the section "Options of a request" of `docs/settings.md`. Each is
//! implemented in `ruby/lib/hecaton/request_builder.rb`.

/// A row of the table: an option of a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestOption {
    /// The keyword.
    pub name: &'static str,
    /// The type in Ruby, as in RBS.
    pub ruby: &'static str,
    /// The text for people.
    pub text: &'static str,
}

macro_rules! options {
    ($($(#[doc = $text:literal])+ $name:ident: $ruby:literal;)+) => {
        /// Every option of a request.
        pub const REQUEST_OPTIONS: &[RequestOption] = &[
            $(RequestOption { name: stringify!($name), ruby: $ruby, text: concat!($($text, "\n"),+) },)+
        ];
    };
}

options! {
    /// Hash, Array of pairs, or Headers; a value may be an Array, for a repeated field. In a name that is a
    /// Symbol underscores are dashes, and it goes out in Title-Case. With Upgrade, a 101 is a Response without a body,
    /// whose connection is closed. With Expect: 100-continue, see `expect_timeout`.
    headers: "fields?";
    /// A String, an IO, a Pathname, or an object that yields Strings by `each`.
    /// - `each` runs in the thread and fiber that wait for the request. If the request ends first (an early response, a
    ///   deadline), the next piece raises an exception in `each`, so `ensure` clauses run.
    /// - A batch, and a request with a block, do other work between two pieces, so there `each` runs in a Fiber of its
    ///   own. It has its own `Thread.current[:x]` and waits for a Monitor that the caller holds. It holds up the thread
    ///   where it sleeps, even under a Fiber.scheduler. A piece that another Fiber or Thread yields raises FiberError.
    /// - An IO is read from its position to its end, in pieces while it is sent. An exception from reading ends the
    ///   request and is raised.
    /// - The body has a Content-Length where the size is known (files but those of /proc and /sys, StringIO), or where
    ///   headers have one. Else it is sent in chunks (RFC 9112 §7.1).
    /// - A size that turns out wrong is a BodyError. The last bytes of a known size are therefore sent once the IO, or
    ///   the object with `each`, has ended.
    /// - Only a body that can be read again is sent again (`retry`, redirects 307 and 308): no pipe, no Enumerator.
    /// - A Hash, or another value that is not an Array, is encoded as the Content-Type among headers says, if that is
    ///   registered with `Hecaton::MIME`.
    body: "body?";
    /// Seconds for this request instead of the client's.
    timeout: "seconds?";
    /// Percent-encoded (RFC 3986, in UTF-8) behind the query that the URL has. An Array
    /// repeats the name, nil leaves it out. Nested values are named as in `form`.
    params: "params?";
    /// User and password for Authorization (RFC 7617). This and `bearer` replace the URL's and the
    /// client's; false sends none; an Authorization among headers takes precedence.
    basic_auth: "credentials | false | nil";
    /// The token for Authorization (RFC 6750). Or a Proc (or an object with `call`) that returns it.
    /// - The Proc is called for each request, right before that is sent, or queued in a batch. An exception in it is
    ///   raised by the method that sends, or leaves the batch.
    /// - After a 401 the Proc is called again. If that gives another token, the request is sent once more (with a
    ///   block, in any case), within the same timeout; `attempts` lists both.
    /// - If the Proc takes an argument, that is nil the first time and then the Response that was a 401.
    /// - The 401 of another server, to which a redirect led, is returned, because that server got no token.
    /// - A body is sent again only if it is a String, `json` or `form`. Nothing is sent again after `on_headers` or
    ///   `on_body` of a batch was called.
    bearer: "String | _Tokens | false | nil";
    /// How many redirects are followed, instead of the client's `redirects`; true and false mean the same as there.
    redirects: "Integer | bool | nil";
    /// Whether a status of 400 or more is a StatusError, instead of the client's.
    raise_for_status: "bool?";
    /// A value that JSON.generate takes, or an object with its own to_json; anything else raises. It is sent with its
    /// Content-Type unless headers have another (see "Headers that Hecaton generates"). nil sends nothing, and false sends the JSON value false (RFC 8259 §3).
    /// Give JSON's null as `body`.
    json: "untyped";
    /// As by URI.encode_www_form. Nested values are named as Rack reads them, `a[b]` and `a[]`.
    form: "form?";
    /// By RFC 7578; an Array as value repeats the name. A value is text; an IO or a Pathname, sent as a file under its
    /// own name; or `{ content:, filename:, type: }` of these. A Content-Type among headers gets the boundary.
    multipart: "multipart?";
    /// User and password for digest authentication (RFC 7616). All else is as for `basic_auth`.
    /// - The algorithms are MD5, SHA-256 and SHA-512/256, also with -sess. The qop is auth, or auth-int for bodies that
    ///   are Strings.
    /// - When the server demands it by a 401, the request is sent once more with the credentials, and again if the
    ///   server only calls the nonce old. Both attempts are listed, and share the timeout.
    /// - Later requests carry the credentials at once. A redirect does not take them to another server.
    /// - A body that can be read only once is a BodyError if the server demands credentials.
    digest_auth: "credentials | false | nil";
    /// Whether this request is sent again, instead of the client's `retry`; false is never. The setting `reconnect`
    /// still applies.
    retry: "bool | Integer | Client::retry_options | nil";
}
