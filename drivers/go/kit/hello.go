package kit

// The reply of drivers in Go to `hello`.

import (
	"runtime"
	"runtime/debug"
)

// Versions of HTTP that a driver's client can do.
var Versions = []string{"1.1"}

func hello(name, version, engine, retries string) message {
	if Tuned() {
		name += "-tuned"
	}
	return message{"ok": true, "proto": 2, "name": name, "version": version, "runtime": runtime.Version(), "engine": engine,
		"http": Versions, "tls": true, "models": []string{"goroutines"}, "keepalive": []bool{true, false},
		"retries": retries, "paces": []string{"rate"}, "max_concurrency": 10000, "cores": 1, "verify": []string{"tail", "json", "none"},
		"calls":   append([]string{}, calling.words...),
		"methods": []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}}
}

// VersionOf is the version of a module that was built in.
func VersionOf(path string) string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == path {
			return module.Version
		}
	}
	return "unknown"
}
