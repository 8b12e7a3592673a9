# Downloads: a file appears only when it is whole. A stopped download resumes, unless the server's file has changed
# meanwhile.
require "test_helper"
require "pathname"
require "scripted"
require "tmpdir"

class DownloadTest < ServerTest
  BODY = Random.new(3).bytes(300_000).freeze

  # A server with one file, which supports ranges. The block gets the headers of each request, and returns what
  # differs in the response: cut: (bytes after which the connection ends), body:, status:, headers:,
  # ignores: (whether If-Range is ignored).
  class Files
    include Listening

    attr_reader :url, :requested

    def initialize(fields, differing)
      @fields = fields
      @differing = differing
      @requested = []
      @url = "#{listen}/file?secret=1"
    end

    private

    def serve(connection)
      while (head = connection.gets("\r\n\r\n"))
        fields = head.lines.drop(1).filter_map { |line| line.chomp.split(": ", 2) if line.include?(":") }
          .to_h.transform_keys(&:downcase)
        @requested << fields
        return unless response(connection, fields, @differing.call(fields))
      end
    end

    # False if the connection ends after this response.
    def response(connection, sent, differing)
      body = differing.fetch(:body, BODY)
      mine = @fields.merge(differing.fetch(:headers, {}))
      from = sent["range"]&.slice(/\Abytes=(\d+)-\z/, 1)&.to_i
      from = nil unless differing[:ignores] || [mine["ETag"], mine["Last-Modified"]].include?(sent["if-range"])
      if from && from >= body.bytesize
        status, content, range = 416, "", "bytes */#{body.bytesize}"
      elsif from
        status, content, range = 206, body.byteslice(from..), "bytes #{from}-#{body.bytesize - 1}/#{body.bytesize}"
      else
        status, content, range = 200, body, nil
      end
      mine = { "Content-Length" => content.bytesize, "Content-Range" => range }.merge(mine).compact
      fields = mine.map { |name, value| "#{name}: #{value}\r\n" }.join
      connection.write("HTTP/1.1 #{differing.fetch(:status, status)} X\r\n#{fields}\r\n")
      connection.write(content.byteslice(0, differing.fetch(:cut, content.bytesize)))
      !differing[:cut]
    end
  end

  # Yields a server and a path in a folder of its own.
  def files(fields = { "ETag" => '"1"' }, differing = ->(_) { {} })
    server = Files.new(fields, differing)
    Dir.mktmpdir("download") { |folder| yield server, "#{folder}/file" }
  ensure
    server&.stop
  end

  def left(path) = Dir.children(File.dirname(path)).sort

  def test_a_file_is_there_when_it_is_whole
    files do |server, path|
      seen = []
      names = []
      download = client.download(server.url, Pathname(path)) do |received, total|
        seen << [received, total]
        names.concat(left(path))
      end
      assert_equal BODY, File.binread(path)
      assert_equal [path, 300_000, 0, 200, ""],
        [download.path, download.size, download.resumed, download.response.status, download.response.body]
      assert_equal [300_000, 300_000], seen.last
      assert_equal seen.map(&:first), seen.map(&:first).sort
      refute_includes names, "file"
      assert_equal ["file"], left(path)
      assert_equal ["identity", nil], server.requested.first.values_at("accept-encoding", "range")
    end
  end

  def test_a_failure_leaves_the_old_file_and_nothing_else
    files({ "ETag" => '"1"' }, ->(_) { { cut: 100_000 } }) do |server, path|
      File.write(path, "old")
      assert_raises(Hecaton::BodyError) { client.download(server.url, path) }
      assert_raises(IOError) { client.download(server.url, path) { raise IOError } }
      client.download(server.url, path) { break }
      assert_equal ["old", ["file"]], [File.read(path), left(path)]
    end
    Dir.mktmpdir do |folder|
      [404, 503, 302, 204].each do |status|
        error = error_of(Hecaton::StatusError) {
          client.download(url("/status/#{status}"), "#{folder}/x", resume: status == 503)
        }
        assert_equal status, error.status
      end
      assert_raises(Hecaton::ConnectError) { client.download("http://127.0.0.1:1/", "#{folder}/x", resume: true) }
      assert_empty Dir.children(folder)
    end
  end

  # The first response is cut, and later ones are whole.
  def cut_once(bytes = 100_000, later = {})
    cut = false
    ->(_) { cut ? later : (cut = true; { cut: bytes }) }
  end

  def begun(server, path)
    error = error_of(Hecaton::BodyError) { client.download(server.url, path, resume: true) }
    refute_path_exists path
    error
  end

  def test_it_resumes_where_it_stopped
    files({ "ETag" => '"1"' }, cut_once) do |server, path|
      begun(server, path)
      assert_equal %w[file.part file.part.from], left(path)
      refute_match(/secret/, File.read("#{path}.part.from"))
      seen = []
      download = client.download(server.url, path, resume: true) { |received, total| seen << [received, total] }
      assert_equal BODY, File.binread(path)
      assert_equal [300_000, 100_000, 206], [download.size, download.resumed, download.response.status]
      assert_equal ["bytes=100000-", '"1"', "identity"],
        server.requested.last.values_at("range", "if-range", "accept-encoding")
      assert_operator seen.first.first, :>, 100_000
      assert_equal [300_000, 300_000], seen.last
      assert_equal ["file"], left(path)
    end
  end

  def test_it_begins_anew_when_the_server_has_another_one
    other = "other" * 1000
    files({}, cut_once(50_000, { body: other, headers: { "ETag" => '"2"' } }).then { |later|
      ->(fields) { { headers: { "ETag" => '"1"' } }.merge(later.call(fields)) }
    }) do |server, path|
      begun(server, path)
      download = client.download(server.url, path, resume: true)
      assert_equal ["bytes=50000-", '"1"'], server.requested.last.values_at("range", "if-range")
      assert_equal [other, 0, 200], [File.read(path), download.resumed, download.response.status]
    end
  end

  def test_by_the_date_of_the_last_change
    dates = { "Last-Modified" => "Sat, 01 Jan 2022 00:00:00 GMT", "Date" => "Sat, 01 Jan 2022 00:00:01 GMT" }
    files(dates, cut_once) do |server, path|
      begun(server, path)
      assert_equal 100_000, client.download(server.url, path, resume: true).resumed
      assert_equal dates["Last-Modified"], server.requested.last["if-range"]
      assert_equal BODY, File.binread(path)
    end
  end

  def test_the_rest_of_another_version_is_refused
    old = { "Last-Modified" => "Sat, 01 Jan 2022 00:00:00 GMT", "Date" => "Sat, 01 Jan 2022 00:00:01 GMT" }
    { old => { "Last-Modified" => "Wed, 01 Jun 2022 00:00:00 GMT" }, { "ETag" => '"1"' } => { "ETag" => '"2"' } }
      .each do |before, after|
      cut = false
      # Servers ought to send the whole file for an If-Range that does not hold. This one ignores it.
      ignores = ->(_) { cut ? { headers: after, ignores: true } : (cut = true; { cut: 100_000 }) }
      files(before, ignores) do |server, path|
        begun(server, path)
        error = error_of(Hecaton::BodyError) { client.download(server.url, path, resume: true) }
        assert_match(/a different version/, error.message)
        refute_path_exists path
      end
    end
  end

  def test_a_part_without_a_strong_validator_is_deleted
    weak = { "Last-Modified" => "Sat, 01 Jan 2022 00:00:01 GMT", "Date" => "Sat, 01 Jan 2022 00:00:01 GMT" }
    [{}, { "ETag" => 'W/"1"' },
     { "ETag" => 'W/"1"', "Last-Modified" => "Sat, 01 Jan 2022 00:00:00 GMT", "Date" => weak["Date"] }, weak,
     { "Last-Modified" => "soon", "Date" => "now" }].each do |fields|
      files(fields, cut_once) do |server, path|
        begun(server, path)
        assert_empty left(path), fields
        assert_equal 0, client.download(server.url, path, resume: true).resumed
        assert_nil server.requested.last["range"]
        assert_equal BODY, File.binread(path)
      end
    end
  end

  def test_a_part_of_another_url_is_not_resumed
    files({ "ETag" => '"1"' }, cut_once) do |server, path|
      begun(server, path)
      assert_equal 0, client.download("#{server.url}&other", path, resume: true).resumed
      assert_nil server.requested.last["range"]
    end
  end

  def test_a_part_of_other_parameters_or_another_base_is_not_resumed
    cut = true
    files({ "ETag" => '"1"' }, ->(_) { cut ? { cut: 100_000 } : {} }) do |server, path|
      address = server.url[/\A[^?]*/]
      download = ->(url, base, **options) { client(base_url: base).download(url, path, resume: true, **options) }
      calls = [-> { download.call(address, nil, params: { v: 1 }) }, -> {
        download.call(address, nil, params: { v: 2 })
      },
               -> { download.call("x", "#{address}/a") }, -> { download.call("x", "#{address}/b") }]
      calls.each_slice(2) do |first, second|
        cut = true
        assert_raises(Hecaton::BodyError, &first)
        cut = false
        assert_equal 0, second.call.resumed
        cut = true
        assert_raises(Hecaton::BodyError, &first)
        cut = false
        assert_equal 100_000, first.call.resumed
      end
    end
  end

  def test_a_part_without_a_valid_note_is_not_trusted
    [nil, "", "x", "x\ny"].each do |note|
      files do |server, path|
        File.write("#{path}.part", "odd")
        File.write("#{path}.part.from", note) if note
        client.download(server.url, path, resume: true)
        assert_equal [BODY, ["file"]], [File.binread(path), left(path)]
      end
    end
  end

  def test_after_a_refused_range_the_whole_file_is_requested_once
    files({ "ETag" => '"1"' }, cut_once(200_000, { body: "short" })) do |server, path|
      begun(server, path)
      download = client.download(server.url, path, resume: true)
      assert_equal ["short", 0, [416, 200]],
        [File.read(path), download.resumed, download.response.attempts.map(&:status)]
      assert_equal ["bytes=200000-", nil], server.requested.last(2).map { |fields| fields["range"] }
      assert_operator download.response.attempts.last.begun, :>=, download.response.attempts.first.ended
    end
    files({ "ETag" => '"1"' }, cut_once(200_000, { status: 416 })) do |server, path|
      begun(server, path)
      error = error_of(Hecaton::StatusError) { client.download(server.url, path, resume: true) }
      assert_equal [416, [416, 416], 3], [error.status, error.attempts.map(&:status), server.requested.size]
    end
  end

  def test_a_range_that_was_not_requested_is_refused_and_forgotten
    [{ "Content-Range" => "bytes 0-299999/300000" },
     { "Content-Range" => "bytes 100000-99999/300000" }, { "Content-Range" => "bytes 100000-300000/300000" },
     { "Content-Range" => "lines 1-2/3" }, { "Content-Range" => nil }].each do |wrong|
      files({ "ETag" => '"1"' }, cut_once(100_000, { headers: wrong })) do |server, path|
        begun(server, path)
        error = error_of(Hecaton::BodyError) { client.download(server.url, path, resume: true) }
        assert_match(/\Athe bytes from 100000 on were requested, and Content-Range is .* \(http:[^?]*\)\z/,
          error.message)
        assert_empty left(path)
      end
    end
    odd = ->(fields) { fields["range"] ? { headers: { "ETag" => '"2"' }, status: 206 } : { cut: 9 } }
    files({ "ETag" => '"1"' }, odd) do |server, path|
      begun(server, path)
      assert_match(/Content-Range is nil/, error_of(Hecaton::BodyError) {
        client.download(server.url, path, resume: true)
      }.message)
    end
  end

  def test_a_range_that_is_no_text_is_refused
    files({ "ETag" => '"1"' },
      cut_once(100_000, headers: { "Content-Range" => "bytes 100000-\xFF/300000".b })) do |server, path|
      begun(server, path)
      assert_match(/Content-Range is "bytes 100000-/, error_of(Hecaton::BodyError) {
        client.download(server.url, path, resume: true)
      }.message)
    end
  end

  def test_a_part_of_the_rest_stays_and_is_reported
    part = ->(fields) {
      fields["range"] ? { cut: 1000, headers: { "Content-Length" => 1000, "Content-Range" => "bytes 9-1008/300000" } } :
      { cut: 9 }
    }
    files({ "ETag" => '"1"' }, part) do |server, path|
      begun(server, path)
      error = error_of(Hecaton::BodyError) { client.download(server.url, path, resume: true) }
      assert_match(/has sent bytes 9 to 1008 of 300000/, error.message)
      assert_equal 1009, File.size("#{path}.part")
    end
  end

  def test_every_cut_ends_in_the_same_file
    random = Random.new(5)
    files({ "ETag" => '"1"' }, ->(_) { random.rand < 0.8 ? { cut: random.rand(0..60_000) } : {} }) do |server, path|
      downloads = 0
      begin
        downloads += 1
        client.download(server.url, path, resume: true)
      rescue Hecaton::BodyError
        retry if downloads < 100
        raise
      end
      assert_equal BODY, File.binread(path)
      assert_equal downloads, server.requested.size
    end
  end

  def test_one_at_a_time
    files do |server, path|
      error = nil
      client.download(server.url, path, resume: true) do
        error ||= error_of(RuntimeError) { client.download(server.url, path, resume: true) }
      end
      assert_match(/another download writes to .*file\.part/, error.message)
      assert_equal BODY, File.binread(path)
      client.download(server.url, path) { client.download(server.url, path) { break } }
      assert_equal [BODY, ["file"]], [File.binread(path), left(path)]
    end
  end

  def test_the_deadline_holds_for_all_of_it_and_what_came_stays
    stalling = ->(_) { { headers: { "Content-Length" => 400_000 } } }
    # On a busy machine, not all that is sent may have come by the first deadline.
    stayed = [0.5, 5, 50].any? do |limit|
      files({ "ETag" => '"1"' }, stalling) do |server, path|
        error = error_of(Hecaton::TimeoutError) { client.download(server.url, path, resume: true, timeout: limit) }
        assert_equal :total, error.phase
        part = "#{path}.part"
        File.exist?(part) && File.binread(part) == BODY
      end
    end
    assert stayed
  end

  def test_a_killed_thread_leaves_what_came
    files({ "ETag" => '"1"' }, ->(_) { { headers: { "Content-Length" => 400_000 } } }) do |server, path|
      received = Queue.new
      thread = Thread.new { client.download(server.url, path, resume: true) { |bytes, _| received << bytes } }
      nil until received.pop == 300_000
      thread.kill.join
      assert_equal %w[file.part file.part.from], left(path)
      thread = Thread.new { client.download(server.url, "#{path}2") { |bytes, _| received << bytes } }
      nil until received.pop == 300_000
      thread.kill.join
      assert_equal %w[file.part file.part.from], left(path)
    end
  end

  def test_bad_arguments_are_refused_before_anything_is_sent
    sent = requests_of do
      Dir.mktmpdir do |folder|
        { { headers: { "Range" => "bytes=0-1" } } => /headers has range/,
          { headers: [["if_range", "x"], [:if_range, "x"]] } => /headers has if-range/,
          { raise_for_status: false } => /raise_for_status is false/, { timeout: -1 } => /timeout/,
          { colour: 1 } => /colour/ }.each do |options, message|
          assert_match message,
            error_of(ArgumentError) { client.download(url("/r/1"), "#{folder}/x", **options) }.message
        end
        assert_raises(Errno::EISDIR) { client.download(url("/r/1"), folder) }
        assert_raises(Errno::ENOENT) { client.download(url("/r/1"), "#{folder}/none/x") }
        assert_empty Dir.children(folder)
      end
    end
    assert_equal 0, sent
  end

  def test_a_child_leaves_the_part_to_its_parent
    files do |server, path|
      child = nil
      catch(:child) do
        client.download(server.url, path) do
          next if child

          child = fork
          throw :child if child.nil?
          Process.wait(child)
        end
      end
      exit!(true) if child.nil?
      assert_equal BODY, File.binread(path)
    end
  end

  def test_a_child_writes_nothing_once_more
    Dir.mktmpdir do |folder|
      child = nil
      client.download(url("/pieces/4/100/20"), "#{folder}/x") do
        next if child
        next Process.wait(child) if (child = fork)

        # As exit does.
        ObjectSpace.each_object(File) { |file| file.close if !file.closed? && file.path&.end_with?(".part") }
        exit!(true)
      end
      assert_equal 400, File.size("#{folder}/x")
    end
  end

  def test_the_working_directory_may_change_meanwhile
    files do |server, path|
      Dir.chdir(File.dirname(path)) do
        seen = client.download(server.url, "there") { Dir.chdir("/") }.path
        assert_equal ["there", ["there"]], [seen, left(path)]
      end
    end
  end

  # As with curl and Wget. The file still appears in one step.
  def test_a_link_stays_and_what_it_leads_to_is_replaced
    files do |server, path|
      folder = File.dirname(path)
      Dir.mkdir("#{folder}/data")
      { "data/there" => "old", "data/new" => nil }.each do |target, before|
        File.write("#{folder}/#{target}", before) if before
        File.symlink(target, path)
        during = []
        download = client.download(server.url, path) {
          during |= Dir.children("#{folder}/data").grep(/part/) + left(path).grep(/part/)
        }
        assert_equal [path, target, BODY], [download.path, File.readlink(path), File.binread("#{folder}/#{target}")]
        assert_equal [1, ["data", "file"]], [during.size, left(path)] # One part, beside the target.
        File.delete(path)
      end
      File.symlink("file", path)
      assert_raises(Errno::ELOOP) { client.download(server.url, path) }
    end
  end

  def test_the_target_of_a_link_is_resumed
    files({ "ETag" => '"1"' }, cut_once) do |server, path|
      File.symlink("other", path)
      assert_raises(Hecaton::BodyError) { client.download(server.url, path, resume: true) }
      assert_equal %w[file other.part other.part.from], left(path)
      assert_equal 100_000, client.download(server.url, path, resume: true).resumed
      assert_equal [BODY, %w[file other]], [File.binread(path), left(path)]
    end
  end

  def test_a_file_that_is_replaced_keeps_its_mode
    files do |server, path|
      [0o600, 0o664].each do |mode|
        File.write(path, "old")
        File.chmod(mode, path)
        client.download(server.url, path)
        assert_equal [BODY, mode], [File.binread(path), File.stat(path).mode & 0o7777]
      end
      File.delete(path)
      client.download(server.url, path)
      assert_equal 0o666 & ~File.umask, File.stat(path).mode & 0o7777
    end
  end

  def test_a_range_of_the_client_is_refused
    files do |server, path|
      ranged = client(headers: { "range" => "bytes=0-9" })
      [true, false].each do |resume|
        error = error_of(ArgumentError) { ranged.download(server.url, path, resume: resume) }
        assert_match(/the client's headers have range, which a download sets itself/, error.message)
      end
      assert_empty server.requested
      assert_equal 300_000, ranged.with(headers: { range: nil }).download(server.url, path).size
    end
  end

  def test_only_files_are_replaced
    sent = requests_of do
      Dir.mktmpdir do |folder|
        File.mkfifo("#{folder}/pipe")
        assert_match(/pipe is a fifo, not a file/, error_of(ArgumentError) {
          client.download(url("/r/1"), "#{folder}/pipe")
        }.message)
        assert_equal [["pipe"], "fifo"], [Dir.children(folder), File.ftype("#{folder}/pipe")]
      end
    end
    assert_equal 0, sent
  end

  def test_the_bytes_are_those_of_the_server
    Dir.mktmpdir do |folder|
      client.download(url("/encoded/gzip/5000"), "#{folder}/x", raise_for_status: true)
      assert_equal "\x1F\x8B".b, File.binread("#{folder}/x", 2)
      client.download(url("/bytes/0"), "#{folder}/empty")
      assert_equal 0, File.size("#{folder}/empty")
      base = client(base_url: real_server.url, redirects: 2)
      assert_equal 50,
        base.download("/redirect/302/1?to=#{url("/bytes/50")}",
          "#{folder}/x", headers: { accept_encoding: "gzip" }).size
    end
  end
end
