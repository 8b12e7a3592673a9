// quic-go: its Transport of HTTP/3 under a Client of net/http; net/http itself for HTTP/1.1.
package main

import (
	"io"
	"net/http"

	"github.com/quic-go/quic-go/http3"

	"hecaton/drivers/kit"
)

type client struct {
	*http.Client
	job   *kit.Job
	close func()
}

func open(job *kit.Job) kit.Client {
	if job.HTTP == "3" {
		transport := &http3.Transport{TLSClientConfig: job.TLS()}
		return client{&http.Client{Transport: transport, Timeout: job.Timeout()}, job, func() { transport.Close() }}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives, transport.TLSClientConfig = !job.Keepalive, job.TLS()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, job.Concurrency
	return client{&http.Client{Transport: transport, Timeout: job.Timeout()}, job, transport.CloseIdleConnections}
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

func (c client) Close() { c.close() }

func main() {
	kit.Versions = []string{"1.1", "3"}
	kit.Run("quic-go", kit.VersionOf("github.com/quic-go/quic-go"), "pure go", "unknown", open)
}
