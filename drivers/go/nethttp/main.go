// net/http: one Client shared by as many goroutines as requests in flight; `-tuned` keeps a connection for each.
package main

import (
	"io"
	"net/http"
	"os"
	"runtime"

	"hecaton/drivers/kit"
)

type client struct {
	*http.Client
	job *kit.Job
}

func open(job *kit.Job) kit.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone() // which keeps 2 idle connections of a host
	transport.DisableKeepAlives = !job.Keepalive
	if len(os.Args) > 1 {
		transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, job.Concurrency
	}
	return client{&http.Client{Transport: transport, Timeout: job.Timeout()}, job}
}

func (c client) Send(url string) (int, []byte, error) {
	request, _ := http.NewRequest(c.job.Method, url, nil)
	if accept := c.job.Accept(); accept != "" {
		request.Header.Set("Accept", accept)
	}
	answer, err := c.Do(request)
	if err != nil {
		return 0, nil, kit.Cause(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}

func (c client) Close() { c.CloseIdleConnections() }

func main() {
	name := map[bool]string{false: "go-net-http", true: "go-net-http-tuned"}[len(os.Args) > 1]
	// A GET whose kept connection turns out to be closed is sent again, and nothing switches that off.
	kit.Run(map[string]any{"name": name, "version": runtime.Version(), "engine": "pure go", "retries": "unknown"}, open)
}
