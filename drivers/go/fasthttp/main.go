// fasthttp: one Client shared by as many goroutines as requests in flight, requests and responses from its pools.
package main

import (
	"github.com/valyala/fasthttp"
	"hecaton/drivers/kit"
)

type client struct {
	*fasthttp.Client
	job *kit.Job
}

func open(job *kit.Job) kit.Client {
	return client{&fasthttp.Client{MaxConnsPerHost: job.Concurrency, MaxIdemponentCallAttempts: 1, TLSConfig: job.TLS()}, job}
}

func (c client) Send(url string) (int, []byte, error) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.SetRequestURI(url)
	request.Header.SetMethod(c.job.Method)
	request.Header.Set("Accept", c.job.Accept())
	if !c.job.Keepalive {
		request.SetConnectionClose()
	}
	err := c.DoTimeout(request, response, c.job.Timeout())
	return response.StatusCode(), append([]byte(nil), response.Body()...), kit.Cause(err)
}

func (c client) Close() { c.CloseIdleConnections() }

func newClient(call *kit.Call) client {
	idle := call.Idle(fasthttp.DefaultMaxIdleConnDuration)
	return client{Client: &fasthttp.Client{TLSConfig: call.TLS(), MaxConnsPerHost: call.PoolSize, MaxIdleConnDuration: idle}}
}

func makeCall(c client, call *kit.Call) (int, []byte, error) {
	request, response := &fasthttp.Request{}, &fasthttp.Response{}
	request.SetRequestURI(call.URL)
	request.Header.SetMethod(call.Method)
	request.SetBodyString(call.Content())
	call.Each(request.Header.Add)
	request.SetTimeout(call.Timeout())
	if call.Follows(false) {
		err := c.DoRedirects(request, response, 20)
		return response.StatusCode(), response.Body(), err
	}
	err := c.Do(request, response)
	return response.StatusCode(), response.Body(), err
}

func main() {
	kit.Calls("method body fields timeout redirects raw-url raw-method tls pool-size idle-timeout"+kit.Own, newClient, makeCall)
	kit.Run("fasthttp", kit.VersionOf("github.com/valyala/fasthttp"), "pure go", "off", open)
}
