// Package kit is the harness's side of every driver in Go: replies to commands, hands out requests, verifies and counts responses.
package kit

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Job is what a command says; `prepare` sets the first seven for the `go`s that follow.
type Job struct {
	Method, URL, Verify, CA string
	Keepalive               bool
	Concurrency             int
	AppendID                bool `json:"append_id"`
	TimeoutMs               int  `json:"timeout_ms"`
	ID, Proto               int
	Cmd                     string
	First, Count            uint64
	LatEvery                uint64 `json:"lat_every"`
	Rate                    float64
	Start                   int64
	Due, HTTP               string
}

// Timeout is the total time of one request.
func (job *Job) Timeout() time.Duration { return time.Duration(job.TimeoutMs) * time.Millisecond }

// Accept is what the header of that name says.
func (job *Job) Accept() string {
	return map[bool]string{true: "application/json", false: "*/*"}[job.Verify == "json"]
}

// TLS says whom to trust: the certificates of the file CA, or those of the system.
func (job *Job) TLS() *tls.Config { return trusting(job.CA) }

func trusting(file string) *tls.Config {
	if file == "" {
		return &tls.Config{}
	}
	roots := x509.NewCertPool()
	text, _ := os.ReadFile(file)
	roots.AppendCertsFromPEM(text)
	return &tls.Config{RootCAs: roots}
}

// Client sends one request at a time for each of the goroutines that share it, and reads the whole response.
type Client interface {
	Send(url string) (status int, body []byte, err error)
	Close()
}

type message map[string]any

// Tuned says whether the driver is to set its client up for speed.
func Tuned() bool { return len(os.Args) > 1 && os.Args[1] == "-tuned" }

// Run replies to commands until `bye`, or prints the client's version for `--version`; `open` gets ready.
func Run(name, version, engine, retries string, open func(*Job) Client) {
	if os.Args[len(os.Args)-1] == "--version" {
		fmt.Println(version)
		return
	}
	var job *Job
	var client Client
	lines := bufio.NewScanner(os.Stdin)
	for lines.Buffer(nil, 8<<20); lines.Scan(); {
		command, reply := new(Job), message{"ok": true}
		if err := json.Unmarshal(lines.Bytes(), command); err != nil {
			reply = message{"ok": false, "error": "bad_request", "what": err.Error()}
		}
		switch command.Cmd {
		case "hello":
			reply = hello(name, version, engine, retries)
		case "prepare":
			if client != nil {
				client.Close()
			}
			job, client = command, open(command)
		case "go":
			reply = send(job, client, command)
		case "call":
			reply = called(lines.Bytes())
		case "bye":
		default:
			reply = refused(command.Cmd)
		}
		reply["id"] = command.ID
		line, _ := json.Marshal(reply)
		fmt.Println(string(line))
		if command.Cmd == "bye" {
			return
		}
	}
}
