# Reads server-sent events out of a response, as the HTML standard (WHATWG, section 9.2) says.
module Hecaton
  # One event.
  #
  # event:: its type. Default "message".
  # data:: a String, whose lines are joined with "\n".
  # id:: the latest id so far, nil without one. The next request sends it as Last-Event-ID.
  # retry:: Integer: the milliseconds to wait before connecting again, as the server last said; nil if it never did.
  ServerSentEvent = Struct.new(:event, :data, :id, :retry, keyword_init: true)

  # Bytes → events, for Stream#each_event.
  class ServerSentEvents
    BYTE_ORDER_MARK = "\xEF\xBB\xBF".b.freeze
    END_OF_LINE = /\r\n|\r|\n/n
    CR = 13
    private_constant :BYTE_ORDER_MARK, :END_OF_LINE, :CR

    # most: the limit of bytes for the data of an event.
    def initialize(most)
      @most = most
      @too_long = false
      @bytes = "".b # those of the line that has not ended yet
      @data = +""
      @events = []
      @begun = @after_cr = false
    end

    # The next ServerSentEvent; nil when more bytes are needed.
    def shift = @events.shift

    # Whether an event was larger than allowed.
    def too_long? = @too_long || @bytes.bytesize > @most

    # Takes bytes, wherever they were cut.
    def feed(bytes)
      searched = @begun ? @bytes.bytesize : 0 # A byte order mark is not counted.
      @bytes << bytes
      @begun ||= begun?
      return unless @begun && !bytes.empty?

      @bytes.delete_prefix!("\n") if @after_cr # The other half of an end of a line.
      lines(searched)
    end

    private

    # A byte order mark may stand at the very beginning, and is skipped.
    def begun?
      return false if @bytes.bytesize < BYTE_ORDER_MARK.bytesize && BYTE_ORDER_MARK.start_with?(@bytes)

      @bytes.delete_prefix!(BYTE_ORDER_MARK)
      true
    end

    def lines(searched)
      from = 0
      while (at = @bytes.index(END_OF_LINE, [from, searched].max))
        ending = $~.end(0)
        line(@bytes.byteslice(from, at - from).force_encoding(Encoding::UTF_8).scrub)
        from = ending
      end
      @after_cr = from.positive? && from == @bytes.bytesize && @bytes.getbyte(-1) == CR
      @bytes = @bytes.byteslice(from..)
    end

    def line(text)
      return dispatch if text.empty?

      name, value = text.split(":", 2)
      field(name, value.to_s.delete_prefix(" "))
    end

    # Ignores unknown fields, and comments, which are fields without a name.
    def field(name, value)
      case name
      when "event" then @event = value
      when "data" then add(value)
      when "id" then @id = value unless value.include?("\0")
      when "retry" then @retry = Integer(value, 10) if value.match?(/\A[0-9]+\z/)
      end
    end

    def add(value)
      @data << value << "\n"
      @too_long ||= @data.bytesize > @most
    end

    # Without data there is no event.
    def dispatch
      event, data = @event, @data
      @event, @data = nil, +""
      return if data.empty?

      type = event.to_s.empty? ? "message" : event
      @events << ServerSentEvent.new(event: type, data: data.delete_suffix("\n"), id: @id, retry: @retry)
    end
  end
end
