package kit

// The command `call`: makes one call for an audit, with the client's own defaults, and reports its outcome.

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Call is the call to make.
type Call struct {
	NewClient   bool `json:"new_client"`
	Method, URL string
	Fields      string
	Body        *string
	TimeoutMs   int `json:"timeout_ms"`
	Follow      *bool
	CA, Proxy   string
	By          string
	Parallel    int
	PoolSize    int `json:"pool_size"`
	IdleMs      int `json:"idle_ms"`
	Needs       string
}

// Own are the words that this file implements for every client.
const Own = " parallel close"

// TLS says whom to trust.
func (call *Call) TLS() *tls.Config { return trusting(call.CA) }

// ProxyURL is the proxy, whatever the environment says; nil for none.
func (call *Call) ProxyURL() *url.URL {
	if call.Proxy == "" {
		return nil
	}
	proxy, _ := url.Parse(call.Proxy)
	return proxy
}

// Idle is how long an idle connection may be kept, or `usual`.
func (call *Call) Idle(usual time.Duration) time.Duration {
	if call.IdleMs == 0 {
		return usual
	}
	return time.Duration(call.IdleMs) * time.Millisecond
}

// Through makes the call with net/http, and reads the whole response.
func (call *Call) Through(client *http.Client) (int, []byte, error) {
	var content io.Reader
	if call.Body != nil {
		content = strings.NewReader(call.Content())
	}
	request, err := http.NewRequest(call.Method, call.URL, content)
	if err != nil {
		return 0, nil, err
	}
	call.Each(request.Header.Add)
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host // as its documentation says
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

// Redirects is what net/http calls before it follows a redirect; nil for its default.
func (call *Call) Redirects() func(*http.Request, []*http.Request) error {
	if call.Follows(true) {
		return nil
	}
	return func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
}

// Each passes on every header field.
func (call *Call) Each(field func(name, value string)) {
	for _, pair := range split(call.Fields, '&') {
		name, value, _ := strings.Cut(pair, "=")
		field(plain(name), plain(value))
	}
}

// Content is the body; empty if there is none.
func (call *Call) Content() string {
	if call.Body == nil {
		return ""
	}
	return plain(*call.Body)
}

// Timeout is the limit that the caller sets; 0 for none.
func (call *Call) Timeout() time.Duration { return time.Duration(call.TimeoutMs) * time.Millisecond }

// Follows says whether redirects are followed, or `usual` if the call leaves it to the client.
func (call *Call) Follows(usual bool) bool {
	if call.Follow == nil {
		return usual
	}
	return *call.Follow
}

var calling struct {
	words []string
	ready func(*Call) // makes or closes the client
	send  func(*Call) (int, []byte, error)
}

// Calls says which calls a client can make: the words, how a client is made, and how it makes a call.
func Calls[C interface{ CloseIdleConnections() }](words string, open func(*Call) C, makeCall func(C, *Call) (int, []byte, error)) {
	var client *C
	calling.words = strings.Fields(words)
	calling.ready = func(call *Call) {
		if client != nil && (call.NewClient || call.By == "close") {
			(*client).CloseIdleConnections()
			client = nil
		}
		if client == nil && call.By != "close" {
			opened := open(call)
			client = &opened
		}
	}
	calling.send = func(call *Call) (int, []byte, error) { return makeCall(*client, call) }
}

// The reply to `call`.
func called(line []byte) message {
	if calling.send == nil {
		return refused("call")
	}
	call := new(Call)
	if err := json.Unmarshal(line, call); err != nil {
		return message{"ok": false, "error": "bad_request", "what": err.Error()}
	}
	for _, word := range split(call.Needs, ',') {
		if !slices.Contains(calling.words, word) {
			return refused(word)
		}
	}
	calling.ready(call)
	if call.By == "close" {
		return message{"ok": true, "responses": 0, "errors": 0, "ms": 0}
	}
	begun := time.Now()
	var reply message
	if call.Parallel > 0 {
		reply = atOnce(call)
	} else {
		reply = outcome(call)
	}
	reply["ok"], reply["ms"] = true, time.Since(begun).Milliseconds()
	return reply
}

// Equal calls from as many goroutines.
func atOnce(call *Call) message {
	replies := make(chan message, call.Parallel)
	for range call.Parallel {
		go func() { replies <- outcome(call) }()
	}
	errors, all := 0, message{}
	for range call.Parallel {
		if reply := <-replies; reply["class"] != nil {
			errors++
			all = reply
		}
	}
	all["responses"], all["errors"] = call.Parallel-errors, errors
	return all
}

func outcome(call *Call) message {
	status, body, err := calling.send(call)
	if err != nil {
		return message{"class": class(err), "text": shown(err.Error())}
	}
	return message{"status": status, "bytes": len(body), "sha256": fmt.Sprintf("%x", sha256.Sum256(body))}
}

func refused(what string) message {
	return message{"ok": false, "error": "unsupported", "what": what}
}

// The type of the innermost error, which names the cause.
func class(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return fmt.Sprintf("%T", err)
}

// The text of an error without control characters.
func shown(text string) string {
	quoted := strconv.QuoteToASCII(text)
	return quoted[1 : min(len(quoted), 502)-1]
}

func split(text string, at rune) []string {
	return strings.FieldsFunc(text, func(letter rune) bool { return letter == at })
}

func plain(text string) string {
	decoded, _ := url.QueryUnescape(text)
	return decoded
}
