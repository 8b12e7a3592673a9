// When the requests of a `go` at a rate are due, on the clock that times them.
import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

// `start` is on the clock of the day; `due` is a file with an offset in microseconds for each request.
export function paceOf ({ rate, start, due }) {
  if (!rate) return null
  // The clock of the day shows whole milliseconds: at the moment when it advances, it is exact.
  const before = Date.now()
  while (Date.now() === before);
  const begin = performance.now() + start / 1000 - Date.now()
  const offsets = due && readFileSync(due, 'latin1').trim().split('\n')
  return {
    // Waits until the request at this position is due, and returns when that was.
    async wait (position) {
      const at = begin + (offsets ? offsets[position] / 1000 : position * 1000 / rate)
      for (let left; (left = at - performance.now()) > 0;) await setTimeout(Math.ceil(left))
      return at
    }
  }
}
