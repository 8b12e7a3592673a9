package kit

// One `go`: as many goroutines as requests in flight, which count by themselves and are summed up at the end.

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type tally struct {
	done, failed, bytes, sum uint64
	errors                   map[string]uint64
	latencies                map[int64]uint64
}

func send(job *Job, client Client, command *Job) message {
	var taken atomic.Uint64
	pace := paceOf(command)
	var running sync.WaitGroup
	tallies := make([]tally, job.Concurrency)
	for i := range tallies {
		running.Add(1)
		go func(own *tally) {
			defer running.Done()
			own.errors, own.latencies = map[string]uint64{}, map[int64]uint64{}
			for n := taken.Add(1) - 1; n < command.Count; n = taken.Add(1) - 1 {
				start := pace.wait(n)
				own.request(job, client, command.First+n, n%command.LatEvery == 0, start)
			}
		}(&tallies[i])
	}
	running.Wait()
	all := &tallies[0]
	for _, one := range tallies[1:] {
		all.done, all.failed = all.done+one.done, all.failed+one.failed
		all.bytes, all.sum = all.bytes+one.bytes, all.sum+one.sum
		for us, n := range one.latencies {
			all.latencies[us] += n
		}
		for kind, n := range one.errors {
			all.errors[kind] += n
		}
	}
	times := make([][2]int64, 0, len(all.latencies))
	for us, n := range all.latencies {
		times = append(times, [2]int64{us, int64(n)})
	}
	return message{"ok": true, "done": all.done, "errors": all.failed, "errors_by": all.errors,
		"bytes": all.bytes, "sum": all.sum & 0xffffffff, "lat_us": times}
}

func (own *tally) request(job *Job, client Client, id uint64, timed bool, start time.Time) {
	url := job.URL
	if job.AppendID {
		url += strconv.FormatUint(id, 10)
	}
	status, body, err := client.Send(url)
	var checkValue uint64
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("status %d", status)
	} else if err == nil {
		checkValue, err = checkValueOf(body, job.Verify)
	}
	if err != nil {
		own.failed++
		own.errors[err.Error()]++
		return
	}
	own.done, own.bytes, own.sum = own.done+1, own.bytes+uint64(len(body)), own.sum+checkValue
	if timed {
		own.latencies[bucket(time.Since(start).Microseconds())]++
	}
}

// Microseconds to eight significant bits, rounded down.
func bucket(us int64) int64 {
	shift := max(bits.Len64(uint64(us))-8, 0)
	return us >> shift << shift
}

// A document as a program would have it.
type page struct {
	Token   string
	Records []struct {
		Time, String string
		Numbers      uint64
		Float        float64
		Bool         bool
	}
}

// The check value at the end of a body. For a document, the numbers of all its records are added.
func checkValueOf(body []byte, verify string) (uint64, error) {
	switch verify {
	case "none":
		return 0, nil
	case "json":
		var page page
		if err := json.Unmarshal(body, &page); err != nil {
			return 0, err
		}
		sum, err := strconv.ParseUint(page.Token, 16, 32)
		for _, record := range page.Records {
			sum += record.Numbers
		}
		return sum, err
	}
	return strconv.ParseUint(string(body[max(0, len(body)-8):]), 16, 32)
}

// Cause is an error without the URL around it, so that errors of one kind count as one.
func Cause(err error) error {
	var system syscall.Errno
	if errors.As(err, &system) {
		return system
	}
	return err
}
