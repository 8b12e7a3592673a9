package kit

// What all drivers in Go say of themselves.

import "runtime"

func hello(about map[string]any) answer {
	reply := answer{"ok": true, "proto": 1, "runtime": runtime.Version(), "http": []string{"1.1"}, "tls": false,
		"models": []string{"goroutines"}, "keepalive": []bool{true, false}, "retries": "off", "max_concurrency": 10000,
		"cores": 1, "verify": []string{"tail", "json", "none"},
		"methods": []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}}
	for key, value := range about {
		reply[key] = value
	}
	return reply
}
