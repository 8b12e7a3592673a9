//! Why a request failed, as far as a program may want to tell such failures apart: one table.

/// Makes the enum, its names and the sentences about them from one table.
macro_rules! reasons {
    ($(#[doc = $meaning:literal] $reason:ident = $name:literal,)+) => {
        /// A finer reason of a failure than its [`Kind`](crate::Kind) and [`Phase`](crate::Phase).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Reason {
            $(#[doc = $meaning] $reason,)+
        }

        impl Reason {
            /// Every reason, in the order of the kinds of failures.
            pub const ALL: &[Reason] = &[$(Reason::$reason),+];

            /// The reason's name, such as `certificate_expired`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Reason::$reason => $name,)+
                }
            }

            /// What the reason means, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Reason::$reason => $meaning.trim_ascii(),)+
                }
            }
        }
    };
}

reasons! {
    /// The name of the proxy has no address.
    ProxyUnresolved = "proxy_unresolved",
    /// Nothing listens at the address.
    ConnectionRefused = "connection_refused",
    /// The setting `allow_address` forbids every address of the host.
    AddressForbidden = "address_forbidden",
    /// The proxy responded to CONNECT with a status other than 2xx.
    ProxyRefused = "proxy_refused",
    /// The certificate has expired.
    CertificateExpired = "certificate_expired",
    /// The certificate is not valid yet.
    CertificateNotYetValid = "certificate_not_yet_valid",
    /// The certificate is signed by nobody that is trusted.
    CertificateUntrusted = "certificate_untrusted",
    /// The certificate is for another host.
    CertificateWrongHost = "certificate_wrong_host",
    /// The certificate has been revoked, or the lists of `crl` do not show that it has not.
    CertificateRevoked = "certificate_revoked",
    /// The certificate's key is not among the `pins`.
    CertificateNotPinned = "certificate_not_pinned",
    /// The certificate cannot be accepted for another reason, such as a wrong signature.
    CertificateInvalid = "certificate_invalid",
    /// The server has no certificate, or none whose key is of a supported kind.
    CertificateMissing = "certificate_missing",
    /// The server demands a client certificate, or refused the one that was shown.
    ClientCertificateRefused = "client_certificate_refused",
    /// The server refused everything that was offered in the TLS handshake, and did not say why.
    HandshakeRefused = "handshake_refused",
    /// The connection ended before a response.
    ConnectionClosed = "connection_closed",
    /// The server sent something else than an HTTP response, or one with a malformed status line or header.
    ResponseMalformed = "response_malformed",
    /// The head of the response exceeds `max_header_bytes` or `max_header_fields`.
    HeadTooLarge = "head_too_large",
    /// The body ended early.
    BodyCutShort = "body_cut_short",
    /// The body is larger than `max_body`.
    BodyTooLarge = "body_too_large",
    /// The chunks, trailers or frames of the body are malformed, or its trailers exceed the limits for headers.
    BodyMalformed = "body_malformed",
    /// The body does not fit its Content-Encoding.
    BodyUndecodable = "body_undecodable",
    /// All bodies that are being received hold more than `max_buffered` together.
    BuffersFull = "buffers_full",
    /// There were more redirects than allowed, or they led back in a circle.
    TooManyRedirects = "too_many_redirects",
    /// A redirect leads from https to http, or to a host that is not among the `redirect_hosts`.
    RedirectForbidden = "redirect_forbidden",
    /// The Location of a redirect cannot be used as a URL.
    LocationInvalid = "location_invalid",
    /// A URL, or the Location of a redirect, has another scheme than http and https.
    SchemeUnsupported = "scheme_unsupported",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_documentation_is_this_one() {
        let row = |reason: &Reason| format!("| `:{}` | {} |\n", reason.name(), reason.meaning());
        let table: String = Reason::ALL.iter().map(row).collect();
        let page = include_str!("../../../../docs/errors.md");
        assert!(
            page.contains(&table),
            "docs/errors.md needs this table:\n{table}"
        );
    }
}
