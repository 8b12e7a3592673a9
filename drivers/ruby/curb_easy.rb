# curb, one request after another: as many threads as requests in flight, each with one Curl::Easy that is used again.
require "curb"
require_relative "threads"

class CurbEasyDriver < Kit::Threads
  private

  def open
    Curl::Easy.new do |easy| # libcurl sends nothing again but what a reused connection, already closed, did not take
      easy.timeout_ms, easy.headers, easy.cacert = @job.timeout_ms, @job.headers, @job.ca
      easy.encoding = "gzip" if @job.gzip?
      easy.set(:forbid_reuse, 1) unless @job.keepalive
    end
  end

  def perform(easy, url)
    easy.url = url
    easy.http(@job.method)
    [easy.response_code, easy.body_str]
  end
end

Kit.calls(*%w[method body fields timeout redirects cookies gzip userinfo raw-url], close: :close) do |call|
  easy = call.client { Curl::Easy.new { |new| new.enable_cookies, new.encoding = true, "gzip" } }
  easy.url, easy.headers, easy.timeout_ms = call.url, call.fields, call.timeout_ms
  easy.follow_location = call.follow == true
  case call.method
  when "POST" then easy.http_post(call.body.to_s)
  when "PUT" then easy.http_put(call.body.to_s)
  else easy.http(call.method)
  end
  [easy.response_code, easy.body_str]
end

Kit.run(CurbEasyDriver, name: "curb-easy", version: Curl::CURB_VERSION, engine: Curl::CURL_LONG_VERSION[/libcurl\S+/],
  models: ["threads"], max_concurrency: 512, tls: true, verify: Kit::DECODING, keepalive: [true, false])
