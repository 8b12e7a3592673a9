// The server in Go: net/http with HTTP/1.1 and HTTP/2, and quic-go with HTTP/3; see ../../lib/listeners.rb for its configuration and responses.
// SIGHUP shuts each server down gracefully while a new one takes over its port.
package main

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

type listener struct {
	Port          int
	Kind          string
	Cert, Key, CA string
	Min, Max      string
	Streams, Idle int
}

func main() {
	bytes, err := os.ReadFile(os.Args[1])
	check(err)
	var all []listener
	check(json.Unmarshal(bytes, &all))
	http.HandleFunc("/", respond)
	for _, one := range all {
		go one.serve()
	}
	select {}
}

func respond(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == "/early":
		if r.ProtoMajor < 3 {
			w.Header().Set("Connection", "close")
		}
		w.WriteHeader(413)
	case path == "/upload":
		sum := crc32.NewIEEE()
		bytes, _ := io.Copy(sum, r.Body)
		writeJSON(w, map[string]any{"method": r.Method, "bytes": bytes, "crc32": sum.Sum32()})
	case strings.HasPrefix(path, "/bytes/"):
		count, _ := strconv.Atoi(path[7:])
		io.WriteString(w, strings.Repeat("abcdefghijklmnopqrstuvwxyz", count/26+1)[:count])
	case strings.HasPrefix(path, "/fields/"):
		count, _ := strconv.Atoi(path[8:])
		for at := range count {
			w.Header().Set(fmt.Sprintf("F-%d", at), "value")
		}
	case path == "/gzipped":
		w.Header().Set("Content-Encoding", "gzip")
		coder := gzip.NewWriter(w)
		io.WriteString(coder, strings.Repeat("Nothing is lost that was coded and decoded. ", 2300))
		coder.Close()
	default:
		writeJSON(w, map[string]any{"method": r.Method, "path": r.URL.RequestURI()})
	}
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(value)
}

// A listener that servers can close without closing the port.
type shared struct {
	net.Listener
	accepted chan net.Conn
	closed   chan struct{}
}

func (s shared) Accept() (net.Conn, error) {
	select {
	case conn := <-s.accepted:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s shared) Close() error { close(s.closed); return nil }

func (l listener) serve() {
	if l.Kind == "h3" {
		check(l.http3().ListenAndServe())
	}
	port, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", l.Port))
	check(err)
	accepted := make(chan net.Conn)
	go func() {
		for {
			conn, err := port.Accept()
			check(err)
			accepted <- conn
		}
	}()
	reload := make(chan os.Signal, 8)
	signal.Notify(reload, syscall.SIGHUP)
	for {
		server := l.server()
		on := shared{port, accepted, make(chan struct{})}
		if l.Cert == "" {
			go server.Serve(on)
		} else {
			go server.ServeTLS(on, "", "")
		}
		<-reload
		go func() {
			until, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			server.Shutdown(until)
		}()
	}
}

func (l listener) server() *http.Server {
	server := &http.Server{IdleTimeout: time.Duration(l.Idle) * time.Second, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(l.Kind != "h2c")
	server.Protocols.SetHTTP2(l.Kind == "h2")
	server.Protocols.SetUnencryptedHTTP2(l.Kind == "h2c")
	server.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: l.Streams}
	if l.Cert != "" {
		server.TLSConfig = l.tls()
	}
	return server
}

func (l listener) http3() *http3.Server {
	settings := &quic.Config{MaxIncomingStreams: int64(l.Streams), MaxIdleTimeout: time.Duration(l.Idle) * time.Second}
	return &http3.Server{Addr: fmt.Sprintf("127.0.0.1:%d", l.Port), TLSConfig: http3.ConfigureTLSConfig(l.tls()), QUICConfig: settings}
}

func (l listener) tls() *tls.Config {
	pair, err := tls.LoadX509KeyPair(l.Cert, l.Key)
	check(err)
	versions := map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}
	settings := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: versions[l.Min], MaxVersion: versions[l.Max]}
	if l.CA != "" {
		text, err := os.ReadFile(l.CA)
		check(err)
		settings.ClientCAs = x509.NewCertPool()
		settings.ClientCAs.AppendCertsFromPEM(text)
		settings.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return settings
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
