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

func paceOf(ask *Job) *pace {
	if ask.Rate == 0 {
		return nil
	}
	// `start` is on the clock of the day, and what is added to now is on the clock that times requests.
	own := &pace{start: time.Now().Add(time.Until(time.UnixMicro(ask.Start))), rate: ask.Rate}
	if ask.Due != "" {
		text, _ := os.ReadFile(ask.Due)
		own.offsets = strings.Fields(string(text))
	}
	return own
}

// Waits until the request at this place is due, and returns when that was; now, where there is no pace.
func (own *pace) wait(place uint64) time.Time {
	if own == nil {
		return time.Now()
	}
	offset := time.Duration(float64(place) * 1e9 / own.rate)
	if own.offsets != nil {
		micros, _ := strconv.ParseInt(own.offsets[place], 10, 64)
		offset = time.Duration(micros) * time.Microsecond
	}
	due := own.start.Add(offset)
	time.Sleep(time.Until(due))
	return due
}
