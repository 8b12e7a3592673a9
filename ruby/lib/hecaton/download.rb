# Downloads to a file, which appears only when it is whole; and resumes where an earlier download stopped.
module Hecaton
  # The result of Client#download.
  #
  # path:: String, the path of the file.
  # size:: Integer, its bytes.
  # resumed:: Integer, the bytes of it that an earlier download had brought.
  # response:: the Response without body. Its attempts are those of the whole download.
  Download = Struct.new(:path, :size, :resumed, :response, keyword_init: true)

  # Included by Client.
  module Downloads
    # Gets a URL into a file, piece by piece, and returns a Download.
    #
    # The bytes go to a file of another name beside it, which is renamed when all have arrived. A reader of path sees
    # the old file, or none, or the new one whole.
    #
    # path:: a String or a Pathname; a file that is there is replaced by one of the same mode, but no device or pipe
    #   (ArgumentError). A symbolic link stays: the file that it leads to is replaced, or made.
    # resume:: whether to resume from the "PATH.part" that an earlier call with resume left (for a link, beside its
    #   target). If this download fails, it leaves one there too. Default false: what came is deleted. The request is
    #   only for the rest (Range). If the file has changed meanwhile, the server sends the whole (If-Range with its
    #   strong ETag, or else its Last-Modified). Without either validator nothing is left to resume from. If the server
    #   refuses the range (416), the whole is requested once more, in the same call and within its timeout.
    # timeout:: seconds for all of it, instead of the client's.
    #
    # Other options go to the request, see Client#request. The file gets the bytes as the server keeps them:
    # Accept-Encoding is identity, and nothing is decoded.
    #
    # With a block, yields after each piece how many bytes are there, and how many there will be, nil if nobody knows.
    #
    # Raises StatusError for every status but 200 (and 203, and 206 for a resumed download). Raises BodyError for a body
    # that does not fit the request. Errors of Client#request and of the file system (SystemCallError) are raised too.
    # RuntimeError when another download with resume writes to the same file.
    def download(url, path, resume: false, timeout: nil, **options, &progress)
      Downloader.refuse("the client's headers have", @request_builder.header_names)
      part = PartFile.new(path, download_source(url, options[:params]), resume)
      Downloader.new(self, url, part, Client.seconds(timeout) || @timeout, options, progress).run
    end

    private

    # The whole requested URL, as far as it is valid: a part that another URL left is not resumed.
    def download_source(url, params)
      url = params ? RequestBuilder.with_query(url.to_s, params) : url.to_s
      base = @settings[:base_url]
      base ? Native.resolve(Client.base(base), url) : url
    rescue ArgumentError
      url.to_s # The request reports what is wrong with it.
    end
  end

  # One call of Client#download.
  class Downloader # :nodoc: all
    RANGE = %r{\Abytes (\d{1,18})-(\d{1,18})/(?:(\d{1,18})|\*)\z}i
    private_constant :RANGE

    def initialize(client, url, part, timeout, options, progress)
      @client = client
      @url = url
      @part = part
      @timeout = timeout
      @progress = progress
      @headers = Downloader.headers(options.delete(:headers))
      @options = options
      # A download raises for a status in any case.
      return unless options.delete(:raise_for_status) == false

      raise ArgumentError, "raise_for_status is false, but a download reports a bad status only by raising: omit it"
    end

    def run
      @part.open do |part|
        offset = part.validator ? part.size : 0
        response = request(offset, @timeout)
        response = again(response) if response.status == 416
        part.finish
        resumed = response.status == 206 ? offset : 0
        Download.new(path: @part.path, size: @written, resumed: resumed, response: response)
      end
    end

    # The headers that were given, as pairs, and what a download adds.
    def self.headers(given)
      pairs = given.nil? ? [] : RequestBuilder.pairs(:headers, given).map { |name, value| [Headers.field(name), value] }
      names = pairs.map { |name, _| name.downcase }
      refuse("headers has", names)
      names.include?("accept-encoding") ? pairs : [*pairs, %w[Accept-Encoding identity]]
    end

    # Names that a download has a use of its own for.
    def self.refuse(where, names)
      taken = names & %w[range if-range]
      raise ArgumentError, "#{where} #{taken.first}, which a download sets itself: use resume" if taken.any?
    end

    # The validator that a head has (RFC 9110 §8.8); nil if there is none that is strong.
    def self.validator(headers)
      etag = headers["etag"]
      return (etag if etag.match?(/\A"[^"]*"\z/)) if etag

      changed, date = headers["last-modified"], headers["date"]
      return unless changed && date

      require "time"
      changed if Time.httpdate(date) - Time.httpdate(changed) >= 1
    rescue ArgumentError
      nil # No dates.
    end

    private

    # Requests the whole after a 416. The attempts of the refused request are listed before those of this one.
    def again(refused)
      request(0, @timeout - refused.elapsed).behind(refused, refused.elapsed)
    rescue Error => error
      raise error.behind(refused, refused.elapsed)
    end

    # Receives the rest from offset, or the whole if the server has it so; a Response.
    def request(offset, timeout)
      headers = offset.zero? ? @headers : [*@headers, ["Range", "bytes=#{offset}-"], ["If-Range", @part.validator]]
      @client.get(@url, **@options, headers: headers, timeout: [timeout, 0.0].max, raise_for_status: false) do |stream|
        receive(stream, offset)
        stream.outcome
      end
    end

    def receive(stream, offset)
      case stream.status
      when 200, 203 then whole(stream)
      when offset.positive? && 206 then rest(stream, offset)
      when offset.positive? && 416 then nil # Requested once more.
      else raise StatusError, stream.outcome
      end
    end

    def whole(stream)
      @part.begin(Downloader.validator(stream.headers))
      write(stream, 0, stream.headers["content-length"]&.then { |text| Integer(text, 10, exception: false) })
    end

    def rest(stream, offset)
      last, total = range(stream, offset)
      @part.continue
      write(stream, offset, total)
      if @written != last + 1
        refuse(stream, "received #{@written - offset} of the announced bytes #{offset} to #{last}", keep: true)
      end
      return if total.nil? || @written == total

      refuse(stream, "the server has sent bytes #{offset} to #{last} of #{total}: call again for the rest", keep: true)
    end

    # Where the range ends, and how long the whole is, nil if it is unknown.
    def range(stream, offset)
      said = stream.headers["content-range"]
      first, last, total = RANGE.match(said.to_s.scrub)&.captures&.map { |number| number&.to_i }
      unless first == offset && last >= first && (total.nil? || total > last)
        refuse(stream, "the bytes from #{offset} on were requested, and Content-Range is #{said.inspect}")
      end
      version = stream.headers[@part.validator.start_with?('"') ? "etag" : "last-modified"]
      refuse(stream, "the server sent the rest of a different version") if version && version != @part.validator
      [last, total]
    end

    def write(stream, offset, total)
      @written = offset
      stream.each_chunk do |chunk|
        @part.write(chunk)
        @written += chunk.bytesize
        @progress&.call(@written, total)
      end
    end

    # Forgets the part that has arrived, unless it is good.
    def refuse(stream, why, keep: false)
      @part.begin(nil) unless keep
      stream.unreadable(why)
    end
  end
end
