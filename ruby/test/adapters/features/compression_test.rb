# Compressed bodies of requests, as a server gets them.
require "test_helper"
require "scripted"
require "hecaton/features/compression"

class CompressionTest < ServerTest
  BODY = ("text " * 1000).freeze

  def sent(coding = :gzip, **options)
    Scripted.run("/" => Scripted.response(200)) do |server|
      client(features: [Hecaton::Features::Compression.new(coding)]).post("#{server.url}/", **options)
      return server.requests.first.split("\r\n\r\n", 2)
    end
  end

  def test_a_body_is_compressed
    head, body = sent(body: BODY)
    assert_match(/^content-encoding: gzip\r?$/i, head)
    assert_equal BODY, Zlib.gunzip(body)
    head, body = sent(:deflate, json: [BODY])
    assert_match(/^content-type: application\/json\r?$/i, head)
    assert_equal [BODY], JSON.parse(Zlib.inflate(body))
  end

  def test_it_is_sent_again_compressed
    Scripted.run("/" => Scripted.response(307, "Location" => "/next"), "/next" => Scripted.response(200)) do |server|
      client(redirects: 1, features: [Hecaton::Features::Compression.new]).post("#{server.url}/", body: BODY)
      assert_equal [BODY] * 2, server.requests.map { |request| Zlib.gunzip(request.split("\r\n\r\n", 2).last) }
    end
  end

  def test_what_is_sent_as_it_is
    [{ body: "small" }, { body: BODY, headers: { "content-encoding" => "br" } },
     { body: BODY, headers: { "Content-Digest" => "x" } },
     { body: BODY, headers: { "X-Amz-Content-SHA256" => "x" } },
     { body: BODY, headers: { "x-amz-checksum-crc32" => "x" } },
     { body: BODY, headers: { "Content-Range" => "bytes 0-4/5" } },
     { body: StringIO.new(BODY) }].each do |options|
      head, body = sent(**options)
      refute_match(/gzip\r?$/, head[/^content-encoding: .*/i].to_s)
      assert_equal options[:body].respond_to?(:read) ? BODY : options[:body], body
    end
  end

  def test_codings_that_are_unknown
    assert_match(/gzip/, assert_raises(ArgumentError) { Hecaton::Features::Compression.new(:rar) }.message)
  end

  def test_a_minimum_is_a_number_of_bytes
    [nil, -1, "1024", 1.5].each do |minimum|
      error = assert_raises(ArgumentError) { Hecaton::Features::Compression.new(:gzip, minimum: minimum) }
      assert_equal "minimum is #{minimum.inspect}: give a number of bytes", error.message
    end
  end
end
