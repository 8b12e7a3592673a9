// Package kit is the harness's side of every driver in Go: answers commands, hands out requests, verifies and counts answers.
package kit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Job is what a line asks for; `prepare` sets the first five for the `go`s that follow.
type Job struct {
	Method, URL, Verify string
	Keepalive           bool
	Concurrency         int
	AppendID            bool `json:"append_id"`
	TimeoutMs           int  `json:"timeout_ms"`
	ID, Proto           int
	Cmd                 string
	First, Count        uint64
	LatEvery            uint64 `json:"lat_every"`
}

// Timeout is the total time of one request.
func (job *Job) Timeout() time.Duration { return time.Duration(job.TimeoutMs) * time.Millisecond }

// Accept is what the header of that name says; nothing when empty.
func (job *Job) Accept() string {
	return map[bool]string{true: "application/json"}[job.Verify == "json"]
}

// Client sends one request at a time for each of the goroutines that share it, and reads the whole answer.
type Client interface {
	Send(url string) (status int, body []byte, err error)
	Close()
}

type answer map[string]any

// Run answers commands until told to end, or prints the client's version when asked for that. `about` is what
// this driver adds to `hello`; `open` gets ready.
func Run(about map[string]any, open func(*Job) Client) {
	if os.Args[len(os.Args)-1] == "--version" {
		fmt.Println(about["version"])
		return
	}
	var job *Job
	var client Client
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		ask, reply := new(Job), answer{"ok": true}
		if err := json.Unmarshal(lines.Bytes(), ask); err != nil {
			reply = answer{"ok": false, "error": "bad_request", "what": err.Error()}
		}
		switch ask.Cmd {
		case "hello":
			reply = hello(about)
		case "prepare":
			if client != nil {
				client.Close()
			}
			job, client = ask, open(ask)
		case "go":
			reply = send(job, client, ask)
		case "bye":
		default:
			reply = answer{"ok": false, "error": "unsupported", "what": ask.Cmd}
		}
		reply["id"] = ask.ID
		line, _ := json.Marshal(reply)
		fmt.Println(string(line))
		if ask.Cmd == "bye" {
			return
		}
	}
}
