package kit

// When the requests of a `go` at a rate are due.

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// Pace is nil where each request follows the end of another.
type pace struct {
	start   time.Time
	rate    float64
	offsets []string
}

func paceOf(command *Job) *pace {
	if command.Rate == 0 {
		return nil
	}
	// `start` is on the clock of the day, and what is added to now is on the clock that times requests.
	own := &pace{start: time.Now().Add(time.Until(time.UnixMicro(command.Start))), rate: command.Rate}
	if command.Due != "" {
		text, _ := os.ReadFile(command.Due)
		own.offsets = strings.Fields(string(text))
	}
	return own
}

// Waits until the request at this position is due, and returns when that was; now, where there is no pace.
func (own *pace) wait(position uint64) time.Time {
	if own == nil {
		return time.Now()
	}
	offset := time.Duration(float64(position) * 1e9 / own.rate)
	if own.offsets != nil {
		micros, _ := strconv.ParseInt(own.offsets[position], 10, 64)
		offset = time.Duration(micros) * time.Microsecond
	}
	due := own.start.Add(offset)
	time.Sleep(time.Until(due))
	return due
}
