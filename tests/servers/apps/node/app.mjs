// The server in Node: http and http2 of its own, Express or Fastify; see ../../lib/listeners.rb for its configuration
// and responses.
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import http2 from "node:http2";
import zlib from "node:zlib";

const [framework, file] = process.argv.slice(2);
const text = "Nothing is lost that was coded and decoded. ".repeat(2300);
const alphabet = Buffer.from("abcdefghijklmnopqrstuvwxyz");
const table = Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});
const step = (sum, bytes) => bytes.reduce((crc, byte) => table[(crc ^ byte) & 255] ^ (crc >>> 8), sum);

// For node:http and node:http2 alike.
function respond(request, response) {
  const json = (value) => {
    const body = JSON.stringify(value);
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    response.end(request.method === "HEAD" ? undefined : body);
  };
  const { method, url } = request;
  if (url.startsWith("/early")) {
    response.writeHead(413, { "content-length": 0, ...(request.httpVersionMajor === 1 && { connection: "close" }) });
    return response.end();
  }
  if (url.startsWith("/upload")) {
    let bytes = 0, sum = ~0;
    request.on("data", (chunk) => { bytes += chunk.length; sum = step(sum, chunk); });
    return request.on("end", () => json({ method, bytes, crc32: ~sum >>> 0 }));
  }
  if (url.startsWith("/bytes/")) return response.end(Buffer.alloc(Number(url.slice(7)), alphabet));
  const coder = { "/gzipped": "gzip", "/deflated": "deflate", "/brotli": "br" }[url];
  if (coder) {
    const code = { gzip: zlib.gzipSync, deflate: zlib.deflateSync, br: zlib.brotliCompressSync }[coder];
    response.writeHead(200, { "content-type": "text/plain", "content-encoding": coder });
    return response.end(code(text));
  }
  if (url.startsWith("/fields/")) {
    for (let at = 0; at < Number(url.slice(8)); at++) response.setHeader(`f-${at}`, "value");
    return response.end("ok");
  }
  json({ method, path: url });
}

const frameworks = {
  plain: async () => respond,
  express: async () => {
    const { default: express } = await import("express");
    const app = express();
    app.post("/early", express.raw({ type: () => true, limit: "1mb" }), (_, response) => response.end());
    app.use((error, _request, response, _next) => response.status(error.status ?? 500).end());
    app.use(respond);
    return app;
  },
  fastify: async () => {
    const { default: fastify } = await import("fastify");
    const app = fastify({ bodyLimit: 1_000_000 });
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
    app.post("/early", (_, reply) => reply.send(""));
    app.get("/echo", (request, reply) => reply.send({ method: request.method, path: request.raw.url }));
    await app.ready();
    return app.routing;
  },
};

// GOAWAY after this many requests of a session.
function few(server, most) {
  server.on("session", (session) => {
    let begun = 0;
    session.on("stream", () => { if (++begun === most) session.close(); });
  });
}

const handler = await frameworks[framework]();
for (const { port, kind, cert, key, ca, min, max, streams, idle, most } of JSON.parse(readFileSync(file))) {
  const secure = cert && {
    cert: readFileSync(cert), key: readFileSync(key), minVersion: `TLSv${min}`, maxVersion: `TLSv${max}`,
    ...(ca && { ca: readFileSync(ca), requestCert: true, rejectUnauthorized: true }),
  };
  const settings = streams && { maxConcurrentStreams: streams };
  const server = {
    http: () => http.createServer(handler),
    https: () => https.createServer(secure, handler),
    h2c: () => http2.createServer({ settings }, handler),
    h2: () => http2.createSecureServer({ ...secure, settings, allowHTTP1: true }, handler),
  }[kind]();
  if (idle) server.keepAliveTimeout = idle * 1000;
  if (idle) server.keepAliveTimeoutBuffer = 0;
  if (most) few(server, most);
  server.listen(port, "127.0.0.1");
}
