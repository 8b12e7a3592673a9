# Responses that break the rules and that libcurl and Net::HTTP read nevertheless.
module Malformed
  OK = "Content-Length: 2\r\n\r\nok"
  # What is odd → the response, whose body is "ok".
  READ = {
    "a space before a colon" => "HTTP/1.1 200 OK\r\nServer : x\r\n#{OK}",
    "a space in a name" => "HTTP/1.1 200 OK\r\nPHP Warning: x\r\n#{OK}",
    "no name" => "HTTP/1.1 200 OK\r\n: x\r\n#{OK}",
    "spaces in the status line" => "HTTP/1.1  200  OK\r\n#{OK}",
    "small letters in the status line" => "http/1.1 200 OK\r\n#{OK}",
    "another version" => "HTTP/2.0 200 OK\r\n#{OK}",
    "a control character in the status line" => "HTTP/1.1 200 O\x01K\r\n#{OK}",
    "a control character" => "HTTP/1.1 200 OK\r\nX: a\x01b\r\n#{OK}",
    "words after the size of a chunk" =>
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2 bytes\r\nok\r\n0\r\n\r\n"
  }.freeze

  # Two readers could find two bodies in these.
  REFUSED = {
    "a space before the colon of a coding" => "HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\n#{OK}",
    "a sign" => "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok",
    "two lengths" => "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n#{OK}"
  }.freeze
end
