# AWS Signature 4 against the signatures that AWS has published: its test suite, and the examples of IAM and S3.
require "test_helper"
require "scripted"
require "hecaton/features/aws_signature"

class AWSSignatureTest < ServerTest
  KEYS = { access_key: "AKIDEXAMPLE", secret_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
           region: "us-east-1", service: "service" }.freeze
  S3 = { access_key: "AKIAIOSFODNN7EXAMPLE",
         secret_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region: "us-east-1", service: "s3" }.freeze

  def feature(time = Time.utc(2015, 8, 30, 12, 36), **options)
    Hecaton::Features::AWSSignature.new(**KEYS, clock: -> { time }, **options)
  end

  def signature(feature, method, url, **options)
    feature.before_attempt(Hecaton::Request.new(method, url, **options), 1)
      .headers["authorization"][/Signature=(.*)/, 1]
  end

  def test_the_test_suite_of_aws
    {
      ["GET", "/"] => "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
      ["GET", "/?Param2=value2&Param1=value1"] => "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
      ["GET", "/\u1234"] => "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85",
      ["GET", "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"] =>
        "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
      ["GET", "/example/.."] => "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
      ["GET", "/./"] => "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
      ["POST", "/"] => "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
    }.each do |(method, target), expected|
      assert_equal expected, signature(feature, method, "https://example.amazonaws.com#{target}"), [method, target]
    end
    form = { body: "Param1=value1", headers: { "Content-Type" => "application/x-www-form-urlencoded" } }
    assert_equal "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
      signature(feature, "POST", "https://example.amazonaws.com/", **form)
  end

  def test_a_field_that_is_repeated
    assert_equal "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
      signature(feature(headers: %w[my-header1]), "GET", "https://example.amazonaws.com/",
        headers: { "My-Header1" => %w[value2 value2 value1] })
  end

  def test_blanks_in_a_field
    headers = { "My-Header1" => " value1", "My-Header2" => ' "a   b   c"' }
    assert_equal "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
      signature(feature(headers: headers.keys), "GET", "https://example.amazonaws.com/", headers: headers)
  end

  def test_the_host_that_is_sent_is_signed
    expected = signature(feature, "GET", "https://example.amazonaws.com/")
    assert_equal expected,
      signature(feature, "GET", "https://127.0.0.1/", headers: { "Host" => "example.amazonaws.com" })
  end

  def test_a_path_of_s3_is_encoded_once
    urls = %w[test$file.text test%24file.text].map { |path| "https://examplebucket.s3.amazonaws.com/#{path}" }
    assert_equal 1, urls.map { |url| signature(feature(**S3), "GET", url) }.uniq.size
  end

  def test_queries_with_empty_parts
    expected = signature(feature, "GET", "https://example.amazonaws.com/?=&a=1&b=")
    assert_equal expected, signature(feature, "GET", "https://example.amazonaws.com/?a=1&&b")
  end

  def test_the_example_of_iam
    feature = feature(service: "iam")
    headers = { "content-type" => "application/x-www-form-urlencoded; charset=utf-8" }
    assert_equal "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
      signature(feature, "GET", "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", headers: headers)
  end

  def test_the_examples_of_s3
    feature = feature(Time.utc(2013, 5, 24), **S3, headers: %w[range date])
    assert_equal "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
      signature(feature, "GET", "https://examplebucket.s3.amazonaws.com/test.txt", headers: { "Range" => "bytes=0-9" })
    put = { headers: { "Date" => "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class" => "REDUCED_REDUNDANCY" },
            body: "Welcome to Amazon S3." }
    assert_equal "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
      signature(feature, "PUT", "https://examplebucket.s3.amazonaws.com/test$file.text", **put)
  end

  def test_each_attempt_is_signed_and_a_redirect_elsewhere_is_not
    Scripted.run("/" => Scripted.response(200)) do |other|
      Scripted.run("/" => Scripted.response(302, "Location" => "#{other.url}/")) do |server|
        client = client(redirects: 2, public_headers: %w[x-amz-security-token x-amz-date],
          features: [Hecaton::Features::AWSSignature.new(**KEYS, session_token: "session")])
        assert_equal 200, client.get("#{server.url}/").status
        first, second = server.requests.first, other.requests.first
        assert_match(/^authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/, first)
        assert_match(/^x-amz-security-token: session/, first)
        refute_match(/token|authorization/i, second)
      end
    end
  end

  def test_a_redirect_back_is_not_signed
    back = nil
    Scripted.run("/" => ->(_) { Scripted.response(302, "Location" => back) }) do |other|
      Scripted.run("/" => Scripted.response(302, "Location" => "#{other.url}/"),
        "/2" => Scripted.response(200)) do |server|
        back = "#{server.url}/2"
        client = client(redirects: 3, features: [Hecaton::Features::AWSSignature.new(**KEYS, session_token: "session")])
        assert_equal 200, client.get("#{server.url}/").status
        refute_match(/amz|authorization/i, server.requests.last)
      end
    end
  end

  def test_a_body_that_is_read_while_it_is_sent
    reader, writer = IO.pipe
    writer.close
    error = error_of(Hecaton::FeatureError) { client(features: [feature]).post(url("/echo"), body: reader) }
    assert_match(/give a String/, error.message)
    refute_match(/EXAMPLEKEY/, feature.inspect)
    response = client(features: [feature(**S3)]).post(url("/echo"), body: StringIO.new("x"))
    sent = response.json["headers"].to_h { |name, value| [name.downcase, value] }
    assert_equal "UNSIGNED-PAYLOAD", sent["x-amz-content-sha256"]
  ensure
    reader.close
  end

  # As from an environment that lacks the variable.
  def test_arguments_that_are_missing
    %i[access_key secret_key region service].product([nil, "", :s3]).each do |name, value|
      error = assert_raises(ArgumentError) { Hecaton::Features::AWSSignature.new(**KEYS, name => value) }
      assert_equal "#{name} is of class #{value.class}: give a String that is not empty", error.message
    end
    assert_raises(ArgumentError) { Hecaton::Features::AWSSignature.new(**KEYS, headers: "range") }
  end
end
