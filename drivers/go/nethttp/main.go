// net/http: one Client shared by as many goroutines as requests in flight; `-tuned` keeps a connection for each.
package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"runtime"

	"hecaton/drivers/kit"
)

type client struct {
	*http.Client
	job *kit.Job
}

func open(job *kit.Job) kit.Client {
	transport := transport(job.Concurrency)
	transport.DisableKeepAlives, transport.TLSClientConfig, transport.ForceAttemptHTTP2 = !job.Keepalive, job.TLS(), job.HTTP == "2"
	return client{&http.Client{Transport: transport, Timeout: job.Timeout()}, job}
}

func transport(idle int) *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone() // 2 idle connections; a GET lost on one is sent again
	if kit.Tuned() {
		transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, idle
	}
	return transport
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

// With the default Transport, and a jar because a case may need one.
func newClient(call *kit.Call) *http.Client {
	transport := transport(100)
	transport.Proxy, transport.TLSClientConfig = http.ProxyURL(call.ProxyURL()), call.TLS()
	transport.MaxConnsPerHost, transport.IdleConnTimeout = call.PoolSize, call.Idle(transport.IdleConnTimeout)
	jar, _ := cookiejar.New(nil)
	return &http.Client{Transport: transport, Jar: jar}
}

func makeCall(c *http.Client, call *kit.Call) (int, []byte, error) {
	one := *c // calls that are made at once share its Transport and its Jar
	one.Timeout, one.CheckRedirect = call.Timeout(), call.Redirects()
	return call.Through(&one)
}

func main() {
	kit.Calls("method body fields timeout redirects cookies gzip userinfo raw-url raw-method tls h2 proxy pool-size idle-timeout expect"+
		kit.Own, newClient, makeCall)
	kit.Versions = []string{"1.1", "2"}
	kit.Run("go-net-http", runtime.Version(), "pure go", "unknown", open)
}
