// net/http: one Client shared by as many goroutines as requests in flight; `-tuned` keeps a connection for each.
package main

import (
	"io"
	"net/http"
	"runtime"

	"hecaton/drivers/kit"
)

type client struct {
	*http.Client
	job *kit.Job
}

func open(job *kit.Job) kit.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone() // 2 idle connections; a GET lost on one is sent again
	transport.DisableKeepAlives, transport.TLSClientConfig, transport.ForceAttemptHTTP2 = !job.Keepalive, job.TLS(), false
	if kit.Tuned() {
		transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, job.Concurrency
	}
	return client{&http.Client{Transport: transport, Timeout: job.Timeout()}, job}
}

func (c client) Send(url string) (int, []byte, error) {
	request, _ := http.NewRequest(c.job.Method, url, nil)
	request.Header.Set("Accept", c.job.Accept())
	response, err := c.Do(request)
	if err != nil {
		return 0, nil, kit.Cause(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

func (c client) Close() { c.CloseIdleConnections() }

func main() { kit.Run("go-net-http", runtime.Version(), "pure go", "unknown", open) }
