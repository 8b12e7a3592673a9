"""Checks that the site's search finds the answers to readers' questions: a section has all words of each."""

import json
import sys
from pathlib import Path

# What a reader types, and the section with the answer.
QUESTIONS = {
    "versions semver": "faq.html#which-versions-can-i-rely-on",
    "maintains": "faq.html#who-maintains-it-and-where-can-i-ask",
    "openssl fips": "faq.html#which-tls-library-does-it-use-is-it-fips-validated",
    "sslkeylogfile wireshark": "faq.html#can-wireshark-decrypt-the-traffic-sslkeylogfile",
    "self-signed certificate": "faq.html#how-do-i-trust-a-self-signed-certificate",
    "limit requests per second": "faq.html#how-do-i-limit-requests-per-second",
    "dns resolver": "faq.html#are-dns-results-cached-what-if-a-server-moves-to-another-address",
    "websocket": "faq.html#are-websocket-http3-or-grpc-supported",
    "upload file": "faq.html#how-do-i-upload-a-file",
    "multipart": "cookbook.html#uploads",
    "cookies json": "cookbook.html#cookies-that-are-saved",
    "datadog": "faq.html#how-do-i-get-metrics-into-datadog-prometheus-or-sentry",
    "prometheus": "faq.html#how-do-i-get-metrics-into-datadog-prometheus-or-sentry",
    "sentry": "faq.html#how-do-i-get-metrics-into-datadog-prometheus-or-sentry",
    "sidekiq": "faq.html#does-it-work-with-sidekiq-solid-queue-goodjob-and-falcon",
    "falcon": "faq.html#does-it-work-with-sidekiq-solid-queue-goodjob-and-falcon",
    "heroku": "faq.html#does-it-run-on-heroku-and-aws-lambda",
    "lambda": "faq.html#does-it-run-on-heroku-and-aws-lambda",
    "yjit": "faq.html#does-it-work-with-yjit-ractors-and-gccompact",
    "ractor": "faq.html#does-it-work-with-yjit-ractors-and-gccompact",
    "steep": "faq.html#are-there-type-signatures-for-steep-and-sorbet",
    "sorbet": "faq.html#are-there-type-signatures-for-steep-and-sorbet",
    "memory load": "faq.html#how-large-is-it-and-how-long-does-it-take-to-load",
    "http.rb": "from-others.html#httprb",
    "httpx": "from-others.html#httpx",
    "excon": "from-others.html#excon",
    "curb": "from-others.html#curb",
    "rest-client": "from-others.html#rest-client",
    "httparty": "from-others.html#httparty",
    "junit gitlab jenkins": "audit-in-your-ci.html#show-the-findings-in-your-ci-system",
    "own driver python": "own-driver.html#1-the-driver",
}


def unanswered(sections, questions):
    """The questions whose section is missing, or lacks one of the words: a sentence each."""
    texts = {section["location"]: (section["title"] + " " + section["text"]).casefold() for section in sections}
    for words, place in questions.items():
        text = texts.get(place)
        if text is None:
            yield f"{words}: there is no section {place}"
        elif missing := [word for word in words.split() if word not in text]:
            yield f"{words}: {place} does not say {', '.join(missing)}"


def main(site):
    sections = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
    found = list(unanswered(sections, QUESTIONS))
    print(*found, f"{len(QUESTIONS)} questions, {len(found)} that the search does not answer", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
