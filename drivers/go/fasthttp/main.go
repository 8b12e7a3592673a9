// fasthttp: one Client shared by as many goroutines as requests in flight, requests and responses from its pools.
package main

import (
	"runtime/debug"

	"github.com/valyala/fasthttp"
	"hecaton/drivers/kit"
)

type client struct {
	*fasthttp.Client
	job *kit.Job
}

func open(job *kit.Job) kit.Client {
	return client{&fasthttp.Client{MaxConnsPerHost: job.Concurrency, MaxIdemponentCallAttempts: 1}, job}
}

func (c client) Send(url string) (int, []byte, error) {
	request, answer := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(answer)
	request.SetRequestURI(url)
	request.Header.SetMethod(c.job.Method)
	if accept := c.job.Accept(); accept != "" {
		request.Header.Set("Accept", accept)
	}
	if !c.job.Keepalive {
		request.SetConnectionClose()
	}
	err := c.DoTimeout(request, answer, c.job.Timeout())
	return answer.StatusCode(), append([]byte(nil), answer.Body()...), kit.Cause(err)
}

func (c client) Close() { c.CloseIdleConnections() }

func main() {
	version := "unknown"
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/valyala/fasthttp" {
			version = module.Version
		}
	}
	kit.Run(map[string]any{"name": "fasthttp", "version": version, "engine": "pure go"}, open)
}
